/** What this gateway has let in and Redis has not heard of, because it was away. */
import type { Charge, Subject } from '../ledger.ts';
import { periodName } from './redis-keys.ts';
import { Window } from './window.ts';

/** Of one value. */
export interface MissedOf {
  readonly subject: Subject;
  readonly requests: Window;
  readonly tokens: Window;
  /** By period and its start. */
  readonly charged: Map<string, bigint>;
}

/** By value. */
export class Missed {
  readonly #values = new Map<string, MissedOf>();

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  requests(subjects: readonly Subject[], now: number): void {
    for (const subject of subjects) if (subject.caps.requests !== null) this.#of(subject).requests.add(now, 1);
  }

  tokens(subjects: readonly Subject[], tokens: number, now: number): void {
    if (tokens > 0) for (const subject of subjects) if (subject.caps.tokens !== null) this.#of(subject).tokens.add(now, tokens);
  }

  charge({ subjects, pico, at }: Charge): void {
    for (const subject of subjects) {
      const { charged } = this.#of(subject);
      for (const { per } of subject.caps.budgets) charged.set(periodName(per, at), (charged.get(periodName(per, at)) ?? 0n) + pico);
    }
  }

  /** All of it; nothing is left here. */
  takeAll(): readonly MissedOf[] {
    const all = [...this.#values.values()];
    this.#values.clear();
    return all;
  }

  /** Redis did not hear of it after all. */
  putBack(all: readonly MissedOf[], now: number): void {
    for (const { subject, requests, tokens, charged } of all) {
      const into = this.#of(subject);
      for (const [at, amount] of amountsOf(requests, now)) into.requests.add(at, amount);
      for (const [at, amount] of amountsOf(tokens, now)) into.tokens.add(at, amount);
      for (const [period, pico] of charged) into.charged.set(period, (into.charged.get(period) ?? 0n) + pico);
    }
  }

  #of(subject: Subject): MissedOf {
    const known = this.#values.get(subject.id) ?? { subject, requests: new Window(), tokens: new Window(), charged: new Map() };
    this.#values.set(subject.id, known);
    return known;
  }
}

const amountsOf = (window: Window, now: number): readonly (readonly [at: number, amount: number])[] => (window.sum(now) === 0 ? [] : window.since(0));

/** How long ago each amount was: the clock of Redis is another one. */
export const agesOf = (window: Window | undefined, now: number): readonly (readonly [age: number, amount: number])[] =>
  window === undefined ? [] : amountsOf(window, now).map(([at, amount]) => [Math.max(0, now - at), amount] as const);
