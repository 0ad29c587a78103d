import { expect, test } from 'vitest';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { ParentCounts } from '../../../../plugins/route/limits/counts/parent.ts';

const noon = Date.UTC(2026, 5, 15, 12);

/** The parent of workers, with a total budget for each value. */
function scene() {
  const clock = { now: noon };
  const memory = new MemoryLedger(() => clock.now);
  const counts = new ParentCounts(memory);
  const subject = (id: string) => ({
    id,
    by: 'meta.x',
    value: id,
    caps: { requests: null, tokens: null, concurrent: null, budgets: [{ per: 'total' as const, pico: '100', refusesUnknown: false }] },
  });
  const reserve = (id: string): unknown =>
    counts.answer({ what: 'reserve', name: id, ask: { subjects: [subject(id)], tokens: 1, pico: '1', isLight: false, isLook: false } }, 1);
  const learn = (id: string): unknown =>
    counts.answer({ what: 'spent', isNew: true, sums: [{ subject: subject(id), per: 'total', start: 0, pico: '0' }] }, 1);
  const begin = (id: string): void => {
    reserve(id);
    learn(id);
    reserve(id);
  };
  return {
    counts,
    begin,
    settle: (id: string): unknown => counts.answer({ what: 'settle', name: id, subjects: [id], tokens: 0 }, 1),
    charge: (id: string): unknown =>
      counts.answer({ what: 'charge', name: `charge ${id}`, subjects: [subject(id)], pico: '7', at: noon }, 1),
    spent: (id: string): unknown => (counts.answer({ what: 'levels', subjects: [subject(id)] }, 1) as any)[0].budgets[0].spent,
    /** The work of the parent every half minute. */
    pass(): void {
      clock.now += 61_000;
      begin('other');
      counts.forget(clock.now);
    },
  };
}

test('the parent of workers removes values that callers made up and that spent nothing, although their budget has no end', () => {
  const { counts, begin, settle, charge, spent, pass } = scene();
  for (let at = 0; at < 100; at++) {
    begin(`free ${at}`);
    settle(`free ${at}`);
  }
  begin('running');
  begin('payer');
  settle('payer');
  charge('payer');
  expect(counts.remembered).toBe(102);
  for (let at = 0; at < 3; at++) pass();
  // running, payer and other
  expect(counts.remembered).toBe(3);
  expect(spent('payer')).toBe('7');
});

test('a charge that comes a moment after the release of its hold is not lost', () => {
  const { begin, settle, charge, spent, pass } = scene();
  begin('late');
  settle('late');
  pass();
  charge('late');
  expect(spent('late')).toBe('7');
});
