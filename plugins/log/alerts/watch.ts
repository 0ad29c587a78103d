/** Compares the sums with the rules once a second, and reports the start and the end of an alert, once each. */
import type { Alerts, AlertRule } from '../../../core/limits.ts';
import { Courier } from './courier.ts';
import { idOf, RuleSums } from './sums.ts';
import type { Addition, Sum } from './sums.ts';
import type { Logger } from '../../../core/logger.ts';
import { factsOf, messageOf, subjectOf } from './words.ts';
import type { Standing } from './words.ts';

export const everyMs = 1000;

/** An alert as the API shows it. */
export interface ShownAlert {
  readonly name: string;
  readonly watches: AlertRule['watches'];
  /** The value that the alert is about; empty for all requests. */
  readonly of: string;
  /** What the sums show now. */
  readonly facts: string;
  /** ISO time. */
  readonly since: string;
}

/** The answer of `GET /api/alerts`. */
export interface ShownAlerts {
  /** The active alerts, the oldest first. */
  readonly data: readonly ShownAlert[];
  readonly rules: number;
  /** Whether there is a webhook, and what went wrong with its last message. */
  readonly webhook: { readonly isSet: boolean; readonly fault: string | null };
}

interface WatchParts {
  readonly logger: Logger;
  readonly clock: () => number;
  /** The providers of the config, by their ids. */
  readonly providers: ReadonlyMap<string, unknown>;
}

export class Watch implements Disposable {
  readonly #courier = new Courier();
  readonly #standing = new Map<string, Standing>();
  #sums: ReadonlyMap<string, { readonly rule: AlertRule; readonly sums: RuleSums }> = new Map();
  #parts: WatchParts | null = null;
  #timer: NodeJS.Timeout | undefined;

  /**
   * From now on these rules apply. The counts of a rule that stays are
   * kept; the alert of a removed rule or provider ends without a message.
   */
  follow({ webhook, rules }: Alerts, parts: WatchParts): void {
    this.#parts = parts;
    this.#courier.follow(webhook, parts.logger);
    this.#sums = new Map(rules.map((rule) => [idOf(rule), this.#sums.get(idOf(rule)) ?? { rule, sums: new RuleSums(rule) }]));
    for (const [key, { rule, value }] of this.#standing) {
      if (!this.#sums.has(idOf(rule)) || (rule.watches === 'provider' && !parts.providers.has(value))) this.#standing.delete(key);
    }
  }

  /** Checks once a second; `before` runs first each time. */
  begin(before: () => void = () => {}): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      before();
      this.look();
    }, everyMs).unref();
  }

  add(additions: readonly Addition[]): void {
    const now = this.#now();
    for (const addition of additions) this.#sums.get(addition[0])?.sums.add(addition, now);
  }

  look(): void {
    const now = this.#now();
    for (const [id, { rule, sums }] of this.#sums) {
      for (const [value, sum] of sums.sums(now)) this.#judge(`${id} ${value}`, { rule, value, since: now, facts: factsOf(rule, sum) }, sum);
    }
  }

  shown(): ShownAlerts {
    const data = Array.from(this.#standing.values(), ({ rule, value, since, facts }): ShownAlert => ({
      name: rule.name,
      watches: rule.watches,
      of: subjectOf(rule, value),
      facts,
      since: new Date(since).toISOString(),
    }));
    return { data, rules: this.#sums.size, webhook: this.#courier.state };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#courier.stop();
  }

  #now(): number {
    return this.#parts?.clock() ?? Date.now();
  }

  /** Begins the alert `found`, ends the one that stands, or renews its facts. */
  #judge(key: string, found: Standing, sum: Sum): void {
    const { rule, value, facts, since: now } = found;
    // the failures of a removed provider stay in the window: they would begin an alert that nothing ends
    if (rule.watches === 'provider' && this.#parts?.providers.has(value) !== true) return;
    const standing = this.#standing.get(key);
    if (standing === undefined) {
      if (!isBeyond(rule, sum)) return;
      this.#standing.set(key, found);
      this.#tell(messageOf(found, null));
    } else if (isOver(rule, sum)) {
      this.#standing.delete(key);
      this.#tell(messageOf({ ...standing, facts }, now));
    } else if (sum.requests > 0) standing.facts = facts;
  }

  #tell(message: string): void {
    this.#parts?.logger.warn(message);
    this.#courier.send(message);
  }
}

function isBeyond({ watches, above, least }: AlertRule, { requests, bad, dollars }: Sum): boolean {
  // the sum of many floats differs in its last digits: 0.1 + 0.2 is more than 0.3
  if (watches === 'cost') return Number(dollars.toPrecision(12)) > above;
  if (requests < least) return false;
  return watches === 'provider' ? bad === requests : (100 * bad) / requests > above;
}

/**
 * Whether an alert is over. It stays active while the requests are as bad, even if they are fewer than
 * the rule asks for. A provider is down until it answers: a provider that nobody asks has not recovered.
 */
function isOver(rule: AlertRule, sum: Sum): boolean {
  return rule.watches === 'provider' ? sum.bad < sum.requests : !isBeyond({ ...rule, least: 1 }, sum);
}
