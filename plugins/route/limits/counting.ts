/**
 * Chooses what counts for a gateway: Redis where the config names one, otherwise
 * the parent of the workers where there are several, otherwise this process.
 */
import { within } from '../../../core/cancellation.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import type { Ledger } from './ledger.ts';
import { MemoryLedger } from './counts/memory.ts';
import { PeerLedger } from './counts/peers.ts';
import { RedisLedger } from './counts/redis.ts';
import type { ReadSpent } from './counts/seeds.ts';
import type { Sums } from './sums.ts';

/** safety: no request waits longer than this for the log. */
const readMs = 700;

export interface Counting {
  readonly ledger: Ledger;
  /** Called when the gateway with this config begins to serve. @param readAgain reads the sums of the log, and gives them to the ledger */
  begin(readAgain: () => void): void;
}

export function createCounting(gateway: Pick<Gateway, 'state' | 'clock' | 'redis' | 'config' | 'peers' | 'log'>, sums: Sums): Counting {
  const { state, clock, redis, config, peers, log } = gateway;
  const memory = state('ledger', () => new MemoryLedger(clock));
  const readSpent: ReadSpent = async (period) =>
    log.reader() === null ? memory.spent(period) : await within(sums.fresh(period), readMs, null);
  const beginMemory = (): void => void (memory.spentBefore = (period) => sums.spentBefore(period));
  if (redis !== null && config.redis !== null) {
    const { url, whenAway } = config.redis;
    const shared = state(`ledger of ${url.reveal()}`, () => new RedisLedger({ redis, memory, clock }));
    const begin = (readAgain: () => void): void => {
      beginMemory();
      shared.whenAway = whenAway;
      shared.seeds.read = readSpent;
      shared.readAgain = log.reader() === null ? null : readAgain;
    };
    return { ledger: shared, begin };
  }
  if (peers === null) return { ledger: memory, begin: beginMemory };
  // the parent asks only for sums that it has not counted itself, so the sums that were read at start are right
  const known: ReadSpent = async (period) => sums.spentBefore(period) ?? (await readSpent(period));
  return { ledger: new PeerLedger({ peers, memory, clock, readSpent: known }), begin: beginMemory };
}
