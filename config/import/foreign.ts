/** Reads a config file of another gateway: its values, and the line of each. */
import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Alias, Document, Node, YAMLError } from 'yaml';
import { Exit } from '../../core/exit.ts';
import { isFields, listOf } from '../../core/wire/fields.ts';
import { longestMs, mostCount } from '../../schemas/server.ts';
import type { Fields } from '../../core/wire/fields.ts';
import type { Path } from '../source.ts';
import { inWords } from '../yaml/faults.ts';

export interface Foreign {
  /** Its name, as the caller gave it. */
  readonly name: string;
  readonly value: Fields;
  /** The place of a value; if the text does not have the value, the place of the nearest outer one. */
  spotOf(path: Path): Spot;
}

export interface Spot {
  /** The name of the file. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** Takes YAML and JSON. Throws an `Exit` where the text is neither. */
export function readForeign(name: string, text: string): Foreign {
  const lines = new LineCounter();
  // safety: the parser's own warnings go to stderr, and quote the file with its secrets
  const document = parseDocument(text, { lineCounter: lines, merge: true, uniqueKeys: false, prettyErrors: false, logLevel: 'error' });
  const [fault] = document.errors;
  if (fault !== undefined) throw new Exit(1, `${name}:${lines.linePos(fault.pos[0]).line} is not valid YAML: ${faultOf(fault)}`);
  const broken = brokenIn(document);
  if (broken !== null) throw new Exit(1, `${name}:${lines.linePos(broken.at).line} is not ${broken.what}`);
  const value: unknown = document.toJS();
  if (!isFields(value)) throw new Exit(1, `${name} is not a config: it has no map at its top`);
  return { name, value, spotOf: (path) => ({ file: name, line: lines.linePos(startOf(document, path)).line }) };
}

interface Broken {
  /** The position where it begins. */
  readonly at: number;
  readonly what: string;
}

/** The first alias that has no value, or that is inside its own value; null where there is none. */
function brokenIn(document: Document): Broken | null {
  let found: Broken | null = null;
  visit(document, {
    Alias(_, alias: Alias, above) {
      const value = alias.resolve(document);
      if (value !== undefined && !above.includes(value)) return undefined;
      const { source, range } = alias;
      // safety: a name without an anchor may be a secret that begins with a star
      const what =
        value === undefined
          ? `valid YAML: ${faultOf({ code: 'BAD_ALIAS', message: 'Unresolved alias' })}`
          : `a config: the alias *${source} stands inside the value that &${source} names, so that value has no end. Write out what is meant`;
      found = { at: range?.[0] ?? 0, what };
      return visit.BREAK;
    },
  });
  return found;
}

/** What to write instead, or the parser's code in words, because its message may quote the line. */
const faultOf = (fault: Pick<YAMLError, 'code' | 'message'>): string => inWords(fault).fix ?? fault.code.toLowerCase().replaceAll('_', ' ');

function startOf(document: Document, path: Path): number {
  let at: Node | null = document.contents;
  let start = at?.range?.[0] ?? 0;
  for (const step of path) {
    const holder: unknown = isAlias(at) ? at.resolve(document) : at;
    const pair = isMap(holder) ? holder.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step)) : undefined;
    const next: unknown = isSeq(holder) ? holder.items[Number(step)] : pair?.value;
    const shown: unknown = pair === undefined ? next : pair.key;
    if (!isNode(shown)) return start;
    start = shown.range?.[0] ?? start;
    at = isNode(next) ? next : null;
  }
  return start;
}

export const textsOf = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : listOf(value).filter((one) => typeof one === 'string');
/** A text; a number of YAML counts as a text. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : null;

/** A number, even in quotes. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** A limit of time as the schema takes it. LiteLLM's users write a huge one where they want none. */
export const withinLimits = (ms: number): number => Math.min(longestMs, Math.max(1, Math.round(ms)));

/** A whole number of at least 1, as the schema takes it. LiteLLM's users write a huge one where they want no limit. */
export function countOf(value: unknown): number | null {
  const number = numberOf(value);
  return number === null || number < 1 ? null : Math.min(mostCount, Math.round(number));
}
