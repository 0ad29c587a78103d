/** Answers that models give, in no wire format, and how their providers stream them. */
import * as fc from 'fast-check';

/** A part of an answer. `pieces`: its text as it is streamed; some pieces are empty. */
export type Part =
  | { readonly kind: 'text'; readonly pieces: readonly string[]; readonly cites: boolean }
  | { readonly kind: 'refusal'; readonly pieces: readonly string[] }
  | { readonly kind: 'thought'; readonly pieces: readonly string[]; readonly signed: boolean }
  | { readonly kind: 'call'; readonly pieces: readonly string[]; readonly id: string; readonly name: string }
  | { readonly kind: 'image' };

export type Call = Part & { readonly kind: 'call' };

export type Finish = 'stop' | 'length' | 'filter' | 'odd' | 'none';

export interface AnyAnswer {
  /** The parts of each choice. Wire formats that have one choice give the first one. */
  readonly choices: readonly (readonly Part[])[];
  readonly finish: Finish;
  /** Where the counts are. */
  readonly usage: 'first' | 'finish' | 'last' | 'twice' | 'never';
  /** The parts of all choices, and parallel calls, come mixed. */
  readonly mixed: boolean;
  /** Events that no documentation lists come in between. */
  readonly noise: boolean;
  /** What the server does as no documentation says: it repeats beginnings and ends, leaves marks out, or goes on after the end. */
  readonly habit: 'none' | 'repeats' | 'skips' | 'late';
  /** How the stream ends; `at` says where, as a part of all its events. `body`: the provider answers with a body, and no stream. */
  readonly ending: { readonly how: 'whole' | 'body' | 'cut' | 'reset' | 'error'; readonly at: number };
  /** Where the bytes of the stream are torn, as parts of its length. */
  readonly tears: readonly number[];
}

const words = fc.constantFrom('Hello.', ' ', '\n\n', 'Grüße 🌍', '', '{"a":1}', '<b>', '"', 'data: [DONE]', '\u2028');
const pieces = fc.array(words, { minLength: 1, maxLength: 4 });

const inputs = ['{"city":"Rome"}', '{}', '', '{"n":1.5}', '{"input":"a\\nb"}', '{"a":{"b":[1,"}"]}}', '{"city":"Zürich \\ud83c\\udf0d"}'];

/** A text in one piece, in two, or character by character. */
const inPieces = (text: string, size: number): readonly string[] =>
  size === 0 || text === ''
    ? [text]
    : Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));

const call: fc.Arbitrary<Part> = fc
  .record({
    id: fc.constantFrom('call_1', 'call_2', 'toolu_3', 'functions.weather:0', ''),
    name: fc.constantFrom('weather', 'search'),
    input: fc.constantFrom(...inputs),
    size: fc.constantFrom(0, 0, 1, 5),
    isLed: fc.boolean(),
  })
  .map(({ id, name, input, size, isLed }) => ({ kind: 'call', id, name, pieces: [...(isLed ? [''] : []), ...inPieces(input, size)] }));

/** Only a text that says something cites. */
const said: fc.Arbitrary<Part> = fc
  .record({ pieces, cites: fc.boolean() })
  .map((one) => ({ kind: 'text', pieces: one.pieces, cites: one.cites && one.pieces.join('') !== '' }));

const part: fc.Arbitrary<Part> = fc.oneof(
  { arbitrary: said, weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant('thought' as const), pieces, signed: fc.boolean() }), weight: 4 },
  { arbitrary: call, weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant('refusal' as const), pieces }), weight: 1 },
  { arbitrary: fc.constant({ kind: 'image' as const }), weight: 1 },
);

/** Where an answer was cut by a limit, its last call is cut too. */
const cutLast = (parts: readonly Part[]): readonly Part[] => {
  const last = parts.at(-1);
  return last?.kind === 'call' ? [...parts.slice(0, -1), { ...last, pieces: ['{"city":', '"Ro'] }] : parts;
};

/** A refusal comes in place of a text. */
const withoutBoth = (parts: readonly Part[]): readonly Part[] =>
  parts.some(({ kind }) => kind === 'refusal') ? parts.filter(({ kind }) => kind !== 'text') : parts;

export const isCut = (part: Part): boolean => part.kind === 'call' && textOf(part).endsWith('"Ro');

export const anyAnswer: fc.Arbitrary<AnyAnswer> = fc
  .record({
    choices: fc.array(fc.array(part, { maxLength: 5 }), { minLength: 1, maxLength: 2 }),
    isSingle: fc.constantFrom(true, true, false),
    cutsCall: fc.boolean(),
    finish: fc.constantFrom<Finish>('stop', 'stop', 'stop', 'length', 'filter', 'odd', 'none'),
    usage: fc.constantFrom('first', 'finish', 'last', 'last', 'twice', 'never'),
    mixed: fc.boolean(),
    noise: fc.boolean(),
    habit: fc.constantFrom('none', 'none', 'repeats', 'skips', 'late'),
    ending: fc.record({
      how: fc.constantFrom('whole', 'whole', 'whole', 'body', 'cut', 'reset', 'error'),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    tears: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  })
  .map(({ isSingle, cutsCall, choices, ...all }) => ({
    ...all,
    choices: choices
      .slice(0, isSingle ? 1 : 2)
      .map(withoutBoth)
      .map((parts) => (all.finish === 'length' && cutsCall ? cutLast(parts) : parts)),
  })) as fc.Arbitrary<AnyAnswer>;

export const textOf = (one: Part): string => ('pieces' in one ? one.pieces.join('') : '');

/** One of each list in turn, until all are empty. */
export function inTurns<Item>(lists: readonly (readonly Item[])[]): readonly Item[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

/** Neighbours that are calls are one group; each other part is a group of its own. */
export function grouped<One extends { readonly part: Part }>(parts: readonly One[]): readonly (readonly One[])[] {
  const groups: One[][] = [];
  for (const one of parts) {
    const last = groups.at(-1);
    if (one.part.kind === 'call' && last?.[0]?.part.kind === 'call') last.push(one);
    else groups.push([one]);
  }
  return groups;
}
