/** The reservations of a gateway in Redis. */
import { periodOf } from '../ledger.ts';
import type { Hold, Subject } from '../ledger.ts';

/** A hold, with the name that the gateway had in Redis when it was taken; the gateway may get another name later. */
export interface Owned extends Hold {
  owner: string;
  /** Epoch milliseconds when Redis was asked. They decide the periods of the keys, because a day may end before Redis answers. */
  readonly askedAt: number;
}

/** The subjects of the running requests, each once. Where a reload has changed the limits of a subject, those of its last request count. */
export const subjectsOf = (running: Iterable<Owned>): readonly Subject[] => [
  ...new Map(Array.from(running, ({ subjects }) => subjects.map((subject) => [subject.id, subject] as const)).flat()).values(),
];

/** What is reserved for each value, in the form that the script takes: exactly what the end of each request releases. */
export function heldValues(subjects: readonly Subject[], running: Iterable<Owned>, now: number): readonly object[] {
  const sums = new Map(subjects.map(({ id }) => [id, { running: 0, tokens: 0, budgets: new Map<string, bigint>() }]));
  for (const { subjects: own, tokens, pico, askedAt } of running) {
    for (const { id, caps } of own) {
      const sum = sums.get(id);
      if (sum === undefined) continue;
      sum.running++;
      if (caps.tokens !== null) sum.tokens += tokens;
      for (const { per } of caps.budgets) {
        if (periodOf(per, askedAt).start === periodOf(per, now).start) sum.budgets.set(per, (sum.budgets.get(per) ?? 0n) + pico);
      }
    }
  }
  return subjects.map(({ id, caps }) => {
    const sum = sums.get(id);
    return {
      running: String(sum?.running ?? 0),
      tokens: String(sum?.tokens ?? 0),
      budgets: caps.budgets.map(({ per }) => String(sum?.budgets.get(per) ?? 0n)),
    };
  });
}
