/** Rules of the requests that a provider takes. A request that breaks one of them is a 400 at the provider itself. */

export interface Sent {
  /** The body that the provider got. */
  readonly body: any;
  /** The model's name at the provider. */
  readonly model: string;
}

/** @typeParam Subject what is checked */
export interface Rule<Subject = Sent> {
  readonly rule: string;
  /** The page or the report that says so. */
  readonly source: string;
  /** What breaks the rule; an empty list: nothing does. */
  readonly offenders: (subject: Subject) => readonly unknown[];
}

/** The rules that are broken, each with the first thing that breaks it. */
export const brokenBy = <Subject>(rules: readonly Rule<Subject>[], subject: Subject): readonly string[] =>
  rules.flatMap(({ rule, offenders }) =>
    offenders(subject)
      .slice(0, 1)
      .map((one) => `${rule}: ${JSON.stringify(one) ?? 'undefined'}`),
  );

/** One offender where a rule for the whole request is broken. */
export const unless = (holds: boolean, offender: unknown = 'the request'): readonly unknown[] => (holds ? [] : [offender]);

export const listIn = (value: unknown): readonly any[] => (Array.isArray(value) ? value : []);

export const isObject = (value: unknown): value is Record<string, any> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === '';

/** The values that are there more than once. */
export const repeated = <Value>(values: readonly Value[]): readonly Value[] => values.filter((value, at) => values.indexOf(value) !== at);

/** The values of `wanted` that `given` lacks. */
export const lacking = <Value>(given: readonly Value[], wanted: readonly Value[]): readonly Value[] =>
  wanted.filter((value) => !given.includes(value));

/** Whether two lists have the same values, in any order. */
export const isSameSet = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && lacking(one, other).length === 0;

/** The fields of an object that are not known. */
export const unknownFields = (value: object, known: readonly string[]): readonly string[] => lacking(known, Object.keys(value));

/** A list with each item and the item after it; undefined after the last one. */
export const pairs = <Item>(items: readonly Item[]): readonly (readonly [Item, Item | undefined])[] =>
  items.map((item, at) => [item, items[at + 1]]);
