/** Sums that the log answers late, while a key gets another budget. */
import { expect, test } from 'vitest';
import type { LogQuery, LogReader, StatsOptions, StatsRow } from '../../../../core/log/store.ts';
import type { Subject } from '../../../../plugins/route/limits/ledger.ts';
import { Sums } from '../../../../plugins/route/limits/sums.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { noon } from './scene.ts';

const midnight = Date.parse('2026-03-01T00:00:00Z');
const day = { by: 'key', per: 'day' } as const;
const team: Subject = { id: 'key team', by: 'key', value: 'team', caps: { requests: null, tokens: null, concurrent: null, budgets: [] } };
const today = { subject: team, per: 'day', start: midnight } as const;
const oneDollar = 1_000_000_000_000n;

/** A log that answers each question when the test says so, with what the key had spent when the question came. */
function slowLog() {
  const log = {
    dollars: 1,
    waiting: [] as (() => void)[],
    options: [] as StatsOptions[],
    letGo: (): void => log.waiting.splice(0).forEach((go) => go()),
  };
  const stats = (_: LogQuery, options: StatsOptions): Promise<readonly StatsRow[]> => {
    log.options.push(options);
    const row = { value: team.value, cost: String(log.dollars) } as StatsRow;
    return new Promise((resolve) => void log.waiting.push(() => resolve([row])));
  };
  const reader = { catchUp: async () => {}, stats } as unknown as LogReader;
  const sums = new Sums(
    [day],
    { log: { reader: () => reader } as never, logger: {} as never, clock: () => noon, readers: new Set() },
    noon,
  );
  const asked = (): Promise<unknown> => expect.poll(() => log.waiting.length).toBe(1);
  return { log, sums, asked };
}

test('a reading of the sums that began before a change of a budget does not count as a reading after the change', async () => {
  const { log, sums, asked } = slowLog();
  sums.watch([day], ['team']);
  const first = sums.refresh();
  await asked();
  log.dollars = 3;
  sums.watch([day], ['team']);
  log.letGo();
  await first;
  expect(sums.spentBefore(today)).toBeNull();
  const second = sums.refresh();
  await asked();
  log.letGo();
  await second;
  expect(sums.spentBefore(today)).toBe(3n * oneDollar);
});

test('a request that asked before a change of its budget gets the sum after the change', async () => {
  const { log, sums, asked } = slowLog();
  sums.watch([day], ['team']);
  const reading = sums.readOne(today);
  await asked();
  log.dollars = 3;
  sums.watch([day], ['team']);
  log.letGo();
  await asked();
  log.letGo();
  await reading;
  expect(sums.spentBefore(today)).toBe(3n * oneDollar);
});

test('all sums are read at once, while searches of the log wait for their turn', async () => {
  const { log, sums, asked } = slowLog();
  const reading = sums.refresh();
  await asked();
  log.letGo();
  await reading;
  expect(log.options).toEqual([expect.objectContaining({ by: 'key', isUrgent: true })]);
});

/** Milliseconds of CPU time in which 4,000 other keys change fifty times, after the spending of this many keys was read one by one. */
async function cpuMsOfChanges(known: number): Promise<number> {
  const { log, sums } = slowLog();
  const reading = Array.from({ length: known }, (_, at) => sums.readOne({ ...today, subject: { ...team, id: `key team-${at}` } }));
  await expect.poll(() => log.waiting.length).toBe(known);
  log.letGo();
  await Promise.all(reading);
  const others = Array.from({ length: 4000 }, (_, at) => `other-${at}`);
  return cpuMsOf(() => {
    for (let time = 0; time < 50; time++) sums.watch([day], others);
  });
}

test('thousands of keys change for little more CPU time where the spending of hundreds was read', async () => {
  await cpuMsOfChanges(1);
  expect(await cpuMsOfChanges(200)).toBeLessThan(10 * (await cpuMsOfChanges(1)));
});
