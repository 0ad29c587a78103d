/** The limits of the config, by their subject: which values of a request are limited, and how strictly. */
import type { Config } from '../../../core/config.ts';
import type { Amounts, Limit } from '../../../core/limits.ts';
import { patternOf } from '../../../core/names.ts';
import { parseDollars } from '../../../core/money.ts';
import type { Candidate, Metadata, Principal } from '../../../core/pipeline/context.ts';
import type { BudgetCap, Caps, Subject } from './ledger.ts';

const none: readonly Subject[] = [];

/** A key with its own limits; null: it has none. */
interface LimitedKey {
  readonly name: string;
  readonly limits: Amounts | null;
}

/** safety: callers choose metadata values, and may send a new value each time. */
const mostKnown = 10_000;

interface Rule {
  readonly amounts: Amounts;
  fits(value: string): boolean;
}

/** All limits on one kind of value. Several limits that fit a value count the same things, so only the strictest matters. */
class Dimension {
  readonly by: string;
  readonly rules: Rule[] = [];
  /** Limits of one value each, by the value: those of keys. */
  readonly #own = new Map<string, Amounts>();
  readonly #known = new Map<string, Subject | null>();

  constructor(by: string) {
    this.by = by;
  }

  /** Null: the value is not limited. */
  of(value: string): Subject | null {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const own = this.#own.get(value);
    const fitting = [...this.rules.filter((rule) => rule.fits(value)).map(({ amounts }) => amounts), ...(own === undefined ? [] : [own])];
    const subject =
      fitting.length === 0 ? null : Object.freeze({ id: `${this.by} ${value}`, by: this.by, value, caps: strictest(fitting) });
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(value, subject);
    return subject;
  }

  /** Sets the limits of one value; null: it has none. */
  limit(value: string, amounts: Amounts | null): void {
    if (amounts === null) this.#own.delete(value);
    else this.#own.set(value, amounts);
    this.#known.delete(value);
  }

  get isEmpty(): boolean {
    return this.rules.length === 0 && this.#own.size === 0;
  }

  owns(): Iterable<Amounts> {
    return this.#own.values();
  }
}

interface Named {
  readonly name: string;
  readonly dimension: Dimension;
}

export class Rules {
  readonly #all: Subject | null;
  readonly #key: Dimension;
  readonly #model: Dimension | null;
  readonly #provider: Dimension | null;
  readonly #metadata: readonly Named[];

  /** Whether a budget refuses requests without a known price. */
  refusesUnknown = false;
  hasBudgets = false;
  #isEmpty = true;
  readonly #limits: readonly Limit[];

  constructor({ limits }: Pick<Config, 'limits'>, keys: readonly LimitedKey[]) {
    this.#limits = limits;
    const dimensions = new Map<string, Dimension>();
    const add = (by: string, rule: Rule): void => {
      const dimension = dimensions.get(by) ?? new Dimension(by);
      dimensions.set(by, dimension);
      dimension.rules.push(rule);
    };
    for (const limit of limits) add(limit.by, { amounts: limit, fits: fitting(limit) });
    this.#all = dimensions.get('all')?.of('') ?? null;
    this.#key = dimensions.get('key') ?? new Dimension('key');
    this.#model = dimensions.get('model') ?? null;
    this.#provider = dimensions.get('provider') ?? null;
    this.#metadata = Array.from(dimensions).flatMap(([by, dimension]) =>
      by.startsWith('meta.') ? [{ name: by.slice('meta.'.length), dimension }] : [],
    );
    this.limitKeys(keys);
  }

  /** Sets the limits of keys that are new or have changed. */
  limitKeys(keys: readonly LimitedKey[]): void {
    for (const { name, limits } of keys) this.#key.limit(name, limits);
    const budgets = [...this.#limits, ...this.#key.owns()].flatMap(({ budget }) => budget ?? []);
    this.refusesUnknown = budgets.some(({ unknown }) => unknown === 'refuse');
    this.hasBudgets = budgets.length > 0;
    this.#isEmpty = this.#all === null && this.#key.isEmpty && this.#metadata.length === 0 && !this.hasTargets;
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Whether models or providers are limited. */
  get hasTargets(): boolean {
    return this.#model !== null || this.#provider !== null;
  }

  /**
   * The limited subjects of a caller, whatever provider answers.
   * safety: a caller may send any header, so the metadata of its key counts before a header of the same name.
   */
  ofCaller({ key, metadata: own }: Principal, metadata: Metadata): readonly Subject[] {
    const found: Subject[] = [];
    if (this.#all !== null) found.push(this.#all);
    const caller = key === null ? null : this.#key.of(key);
    if (caller !== null) found.push(caller);
    // cost: an iterator for each request takes longer than the look-ups
    for (let at = 0; at < this.#metadata.length; at++) {
      const { name, dimension } = this.#metadata[at] as Named;
      const value = own[name] ?? metadata[name];
      // the log does not distinguish an empty value from an absent one
      const subject = value === undefined || value === '' ? null : dimension.of(value);
      if (subject !== null) found.push(subject);
    }
    return found;
  }

  /** The limited subjects of a model at a provider. */
  ofTarget(provider: string | null, model: string | null): readonly Subject[] {
    if (!this.hasTargets) return none;
    return [model === null ? null : this.#model?.of(model), provider === null ? null : this.#provider?.of(provider)].filter(
      (subject) => subject !== null && subject !== undefined,
    );
  }

  /** The values that are limited by name: all requests, and those of these keys that have limits. */
  named(keys: readonly LimitedKey[]): readonly Subject[] {
    return [this.#all, ...keys.map(({ name }) => this.#key.of(name))].filter((subject) => subject !== null);
  }

  /** Null: the value is not limited. */
  of(by: string, value: string): Subject | null {
    switch (by) {
      case 'all':
        return this.#all;
      case 'key':
        return this.#key.of(value);
      case 'model':
        return this.#model?.of(value) ?? null;
      case 'provider':
        return this.#provider?.of(value) ?? null;
      default:
        return this.#metadata.find(({ name }) => by === `meta.${name}`)?.dimension.of(value) ?? null;
    }
  }

  ofCandidate({ provider, model }: Candidate): readonly Subject[] {
    return this.ofTarget(provider.id, model.id);
  }

  /** Each dimension that has budgets, with their periods. */
  budgets(): readonly { readonly by: string; readonly per: BudgetCap['per'] }[] {
    const all = [...this.#limits, ...Array.from(this.#key.owns(), (amounts) => ({ by: 'key', ...amounts }))];
    const named = all.flatMap(({ by, budget }) => (budget === null ? [] : [[`${by} ${budget.per}`, { by, per: budget.per }] as const]));
    return [...new Map(named).values()];
  }
}

function fitting({ match }: Limit): (value: string) => boolean {
  if (match === null) return () => true;
  const pattern = patternOf(match);
  return (value) => pattern.test(value);
}

const least = (values: readonly (number | null)[]): number | null =>
  values.reduce((found, value) => (value === null || (found !== null && found <= value) ? found : value), null);

function strictest(all: readonly Amounts[]): Caps {
  return {
    requests: least(all.map(({ requestsPerMinute }) => requestsPerMinute)),
    tokens: least(all.map(({ tokensPerMinute }) => tokensPerMinute)),
    concurrent: least(all.map(({ concurrent }) => concurrent)),
    budgets: strictestBudgets(all),
  };
}

function strictestBudgets(all: readonly Amounts[]): readonly BudgetCap[] {
  const found = new Map<BudgetCap['per'], BudgetCap>();
  for (const { budget } of all) {
    if (budget === null) continue;
    const pico = parseDollars(budget.dollars) ?? 0n;
    const known = found.get(budget.per);
    const refusesUnknown = budget.unknown === 'refuse' || known?.refusesUnknown === true;
    found.set(budget.per, { per: budget.per, pico: known === undefined || pico < known.pico ? pico : known.pico, refusesUnknown });
  }
  return [...found.values()];
}
