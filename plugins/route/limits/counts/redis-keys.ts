/** The names of the keys in Redis, and how its numbers are read. */
import type { Budget } from '../../../../core/limits.ts';
import { periodOf } from '../ledger.ts';
import type { Level, Subject } from '../ledger.ts';

const prefix = 'model-gateway:{limits}:';
/** Gateways that are alive, each with the time at which its lease ends. */
export const aliveKey = `${prefix}alive`;
/** A changed value means that Redis has lost everything. */
export const eraKey = `${prefix}era`;

/** The number of the last message that Redis has received from a gateway under this name. */
export const heardKey = (name: string): string => `${prefix}heard:${name}`;
/** Exists once Redis has counted the batch of this name. */
export const toldKey = (name: string): string => `${prefix}told:${name}`;

const dayMs = 86_400_000;
const never = Date.UTC(2100, 0, 1);

/** `day 1767225600000` */
export const periodName = (per: Budget['per'], at: number): string => `${per} ${periodOf(per, at).start}`;
export const spentKey = ({ id }: Subject, per: Budget['per'], at: number): string => `${prefix}spent:${periodName(per, at)}:${id}`;
const heldKey = ({ id }: Subject, per: Budget['per'], at: number): string => `${prefix}held:${periodName(per, at)}:${id}`;

/** When the keys of a budget may be deleted, in epoch milliseconds: a while after its period; those of a total in the year 2100. */
export const expiryOf = (per: Budget['per'], at: number): number => {
  const { end } = periodOf(per, at);
  return end === Infinity ? never : end + 7 * dayMs;
};

/** The keys of values, in the order in which the scripts take them. */
export const keysOf = (subjects: readonly Subject[], at: number): string[] =>
  subjects.flatMap((subject) => [
    ...valueKeys(subject),
    ...subject.caps.budgets.flatMap(({ per }) => [spentKey(subject, per, at), heldKey(subject, per, at)]),
  ]);
const parts = ['requests', 'requests-order', 'tokens', 'tokens-order', 'tokens-held', 'running'] as const;
const valueKeys = ({ id }: Subject): string[] => parts.map((part) => `${prefix}${part}:${id}`);

/** How many numbers a value has in the reply, before those of its budgets. */
const numbersOfValue = 7;
const waitOf = (ms: number): number | null => (ms < 0 ? null : ms);

/** The levels in the reply of the script that reserves. */
export function levelsOf(subjects: readonly Subject[], numbers: readonly string[]): Level[] {
  let at = 0;
  return subjects.map(({ caps }) => {
    const [requests, requestsResetMs, tokens, tokensResetMs, tokensWaitMs, running, requestsWaitMs] = numbers
      .slice(at, at + numbersOfValue)
      .map(Number) as [number, number, number, number, number, number, number];
    at += numbersOfValue;
    const budgets = caps.budgets.map(() => {
      const [spent, held] = [numbers[at] as string, numbers[at + 1] as string];
      at += 2;
      return { spent: spent === '' ? null : BigInt(spent), held: BigInt(held) };
    });
    return {
      requests,
      requestsResetMs,
      requestsWaitMs: waitOf(requestsWaitMs),
      tokens,
      tokensResetMs,
      tokensWaitMs: waitOf(tokensWaitMs),
      running,
      budgets,
    };
  });
}
