/** Reads from the log what was spent: at start, later again and again because other processes spend too, and when keys change. */
import type { Gateway } from '../../../core/host/plugin.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import type { Counting } from './counting.ts';
import type { Spent } from './ledger.ts';
import { Refresher } from './refresher.ts';
import type { Rules } from './rules.ts';
import type { Kind, Sums } from './sums.ts';

/** How long the start waits for the sums of the log. */
const openMs = 1500;

interface SpendingParts extends Counting {
  readonly rules: Rules;
  readonly sums: Sums;
}

interface Spending {
  /** Called when keys with these names may have other budgets than before. */
  budgetsChanged(keys: readonly string[]): void;
  close(): void;
}

/** Gives the sums of the log to the ledger. */
export function followSpending(gateway: Gateway, { rules, sums, ledger, begin }: SpendingParts): Spending {
  const { hooks, log, logger, peers } = gateway;
  const refresh = async (): Promise<void> => {
    if (!rules.hasBudgets) return;
    await sums.refresh();
    ledger.atLeast(spentIn(sums, rules));
  };
  const refresher = new Refresher(refresh, () => isReader(peers));
  peers?.answer('number', () => peers.number);
  // LATE: the plugin that keeps the log has opened it by then
  hooks.boot.tapPromise({ stage: LATE }, async () => {
    await sums.open(openMs);
    for (const warning of await warningsOf(rules.budgets(), log.reader())) logger.warn(warning);
    begin(() => void refresher.now());
    // while a reload had removed a budget, its spending was not counted
    ledger.atLeast(spentIn(sums, rules));
    refresher.start();
  });
  return {
    budgetsChanged(keys) {
      sums.watch(rules.budgets(), keys);
      // while a key had no budget, its spending was not counted
      void refresher.now();
    },
    close() {
      refresher.stop();
      sums.close();
    },
  };
}

/** The sums of the log for values that have limits. */
const spentIn = (sums: Sums, rules: Rules): Spent[] =>
  Array.from(sums.known()).flatMap(({ kind: { by, per }, start, value, pico }) => {
    const subject = rules.of(by, value);
    return subject === null ? [] : [{ subject, per, start, pico }];
  });

/** Whether this worker reads for all workers: it does if no other running worker has a lower number. */
const isReader = async (peers: Gateway['peers']): Promise<boolean> =>
  peers === null || (await peers.ask('number', null)).every((other) => (other as number) > peers.number);

const longestDays = { day: 1, week: 7, month: 31, total: Infinity };

/** Warnings about budgets whose period is longer than the log keeps records. */
async function warningsOf(kinds: readonly Kind[], reader: LogReader | null): Promise<string[]> {
  if (kinds.length === 0) return [];
  if (reader === null) return ['there are budgets, and no plugin keeps a log: what was spent is forgotten when this process ends'];
  const { retentionDays } = await reader.status();
  const tooLong = new Set(kinds.filter(({ per }) => retentionDays > 0 && longestDays[per] > retentionDays).map(({ per }) => per));
  const warningOf = (per: Kind['per']): string =>
    `the log keeps ${retentionDays} days, so a budget with per: ${per} forgets older spending when the process starts again; set retention_days of the log to ${per === 'total' ? 0 : longestDays[per]}`;
  return Array.from(tooLong, warningOf);
}

/** Keeps the reader of the log, because the next config may have limits and then needs the records of this gateway. Returns the teardown. */
export function keepReader({ hooks, log }: Pick<Gateway, 'hooks' | 'log'>, readers: Set<LogReader>): () => void {
  hooks.boot.tap({ stage: LATE }, () => {
    const reader = log.reader();
    if (reader !== null) readers.add(reader);
  });
  return () => {
    const reader = log.reader();
    if (reader !== null) readers.delete(reader);
  };
}
