/** What a gateway holds in Redis. */
import { periodOf } from '../ledger.ts';
import type { Hold, Subject } from '../ledger.ts';

/** A hold under the name that the gateway had in Redis when it was taken; it changes when the gateway gets another name. */
export interface Owned extends Hold {
  owner: string;
}

/** By value, as the script takes it. */
export function heldValues(running: Iterable<Owned>, now: number): readonly { readonly subject: Subject; readonly held: object }[] {
  const byId = new Map<string, { readonly subject: Subject; readonly holds: Owned[] }>();
  for (const hold of running) {
    for (const subject of hold.subjects) {
      const known = byId.get(subject.id) ?? { subject, holds: [] };
      known.holds.push(hold);
      byId.set(subject.id, known);
    }
  }
  return Array.from(byId.values(), ({ subject, holds }) => ({
    subject,
    held: {
      running: String(holds.length),
      tokens: String(holds.reduce((sum, { tokens }) => sum + tokens, 0)),
      budgets: subject.caps.budgets.map(({ per }) => String(holds.reduce((sum, { pico, at }) => (periodOf(per, at).start === periodOf(per, now).start ? sum + pico : sum), 0n))),
    },
  }));
}
