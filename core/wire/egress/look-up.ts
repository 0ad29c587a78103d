/** Looks up the addresses of a name, once for all requests that need them at one time. */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Found = Parameters<LookupFunction>[2];

/** The callbacks that wait for the addresses of a name. */
const waiting = new Map<string, Found[]>();

/**
 * safety: Node looks up two names at one time, and a name whose servers do not answer takes ten seconds or more. If each
 * request looked it up, the names of all other providers would wait behind it, long after its own requests have timed out.
 */
export function lookUp(...[name, options, found]: Parameters<LookupFunction>): void {
  const { family, hints, all } = options;
  const question = JSON.stringify([name, family, hints, all]);
  const known = waiting.get(question);
  if (known !== undefined) return void known.push(found);
  const asking = [found];
  waiting.set(question, asking);
  lookup(name, options, (...answer: Parameters<Found>) => {
    waiting.delete(question);
    for (const one of asking) one(...answer);
  });
}
