/** Asks and verdicts as JSON, for the channel between a worker and the parent. JSON has no bigints, so dollars go as text. */
import type { Ask, BudgetCap, BudgetLevel, Hold, Level, Spent, Subject } from '../ledger.ts';

type Text<Value, Names extends keyof Value> = Omit<Value, Names> & { readonly [Name in Names]: string };

export interface WiredSubject extends Omit<Subject, 'caps'> {
  readonly caps: Omit<Subject['caps'], 'budgets'> & { readonly budgets: readonly Text<BudgetCap, 'pico'>[] };
}

export interface WiredLevel extends Omit<Level, 'budgets'> {
  readonly budgets: readonly { readonly spent: string | null; readonly held: string }[];
}

interface WiredAsk extends Omit<Ask, 'subjects' | 'pico'> {
  readonly subjects: readonly WiredSubject[];
  readonly pico: string;
}

interface WiredSpent extends Omit<Spent, 'subject' | 'pico'> {
  readonly subject: WiredSubject;
  readonly pico: string;
}

export const toWire = ({ id, by, value, caps }: Subject): WiredSubject => ({
  id,
  by,
  value,
  caps: { ...caps, budgets: caps.budgets.map((cap) => ({ ...cap, pico: String(cap.pico) })) },
});
export const fromWire = ({ id, by, value, caps }: WiredSubject): Subject => ({
  id,
  by,
  value,
  caps: { ...caps, budgets: caps.budgets.map((cap) => ({ ...cap, pico: BigInt(cap.pico) })) },
});

export const levelToWire = (level: Level): WiredLevel => ({
  ...level,
  budgets: level.budgets.map(({ spent, held }) => ({ spent: spent === null ? null : String(spent), held: String(held) })),
});
export const levelFromWire = (level: WiredLevel): Level => ({
  ...level,
  budgets: level.budgets.map(({ spent, held }): BudgetLevel => ({ spent: spent === null ? null : BigInt(spent), held: BigInt(held) })),
});

/** A hold of a worker, with the name by which the parent knows it. */
export interface NamedHold extends Hold {
  readonly name: string;
}

/** A message of a worker to the parent. */
export type Said =
  | { readonly what: 'reserve'; readonly name: string; readonly ask: WiredAsk }
  | { readonly what: 'settle'; readonly name: string; readonly subjects: readonly string[]; readonly tokens: number }
  /** `name`: a worker that does not know whether the parent received a message sends the message again under the same name. */
  | {
      readonly what: 'charge';
      readonly name: string;
      readonly subjects: readonly WiredSubject[];
      readonly pico: string;
      readonly at: number;
    }
  | { readonly what: 'known' }
  | { readonly what: 'levels'; readonly subjects: readonly WiredSubject[] }
  /** `isNew`: the parent does not know the spending of these values. */
  | { readonly what: 'spent'; readonly sums: readonly WiredSpent[]; readonly isNew: boolean };

export interface Reserved {
  readonly hasRoom: boolean;
  readonly levels: readonly WiredLevel[];
}
