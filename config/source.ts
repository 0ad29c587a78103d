/** One file of YAML or JSON: its text, its values, and the position of each value. */
import type { Alias, Document, LineCounter, Node, Pair, YAMLMap } from 'yaml';
import type { Json, Range, Ranges } from './json.ts';
import { createFinder, readJson } from './json.ts';
import { maskPart, mostAbove } from './masks.ts';
import { yaml } from './yaml/parser.ts';

/** The way from the root to a value: keys of maps and positions in lists, for example `['models', 0, 'id']`. */
export type Path = readonly (string | number)[];

/** A part of a file, as a problem shows it. */
export interface Position {
  /** The path of the file as the caller named it: relative where the caller gave a relative one. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly col: number;
  /** The whole line with its secrets masked; empty where the line is too long to show. */
  readonly source: string;
  /** The number of faulty characters, from `col` on; at least 1. */
  readonly length: number;
}

/** One file: its text, its values, and a way to find their positions. */
export interface Source {
  /** The absolute path. */
  readonly file: string;
  /** The path as problems show it. */
  readonly shown: string;
  readonly text: string;
  /** The value of the file where it is read as JSON, or the reason why it is not. */
  readonly json: Json;
  /** The YAML document. It is parsed at the first use, which does not happen for a file that is read as JSON. */
  readonly document: Document;
  /**
   * False where no value can contain this text.
   * cost: the answer saves a visit of every node, a tenth of the time that a large catalogue takes.
   */
  mayHold(text: string): boolean;
  /** The ranges of the key and the value at a path. */
  find(path: Path): Ranges;
  /** The position of a range of the text. */
  position(range: Range): Position;
}

/**
 * Makes a `Source` of a text. Syntax faults are not thrown; `document.errors` has them.
 * @param file the absolute path
 * @param shown the path as problems show it
 */
export function parseSource(file: string, shown: string, text: string): Source {
  const json = readJson(text);
  let document: Document | null = null;
  const parsed = (): Document => (document ??= parseText(text));
  let finder: Source['find'] | null = null;
  let lines: LineCounter | null = null;
  return {
    file,
    shown,
    text,
    json,
    get document() {
      return parsed();
    },
    find(path) {
      finder ??= json.value === null ? (wanted) => rangesAt(parsed(), wanted) : createFinder(text);
      return finder(path);
    },
    // an escape such as \u0024 can encode any character
    mayHold: (wanted) => text.includes(wanted) || text.includes('\\'),
    position([start, end]) {
      const { line, col } = (lines ??= linesOf(text)).linePos(start);
      const from = start - col + 1;
      const content = lineAt(text, from, from + longestLine + 1);
      const marked = lineAt(text, start, Math.min(end, start + longestLine)).trimEnd();
      const source = content.length > longestLine ? '' : maskPart(content, linesAbove(text, from));
      return { file: shown, line, col, source, length: Math.max(marked.length, 1) };
    },
  };
}

/** cost: a program may write a whole catalogue on one line, and masking that line takes 30 ms per megabyte for each fault in it. */
const longestLine = 4096;

/** The text from `start` to `end`, or to the end of the line where that comes first. */
const lineAt = (text: string, start: number, end: number): string => /^[^\r\n]*/.exec(text.slice(start, end))?.[0] ?? '';

/** The lines before this place of the text, the nearest first. */
function linesAbove(text: string, start: number): string[] {
  const lines: string[] = [];
  for (let end = start - 1; end > 0 && lines.length < mostAbove;) {
    const from = text.lastIndexOf('\n', end - 1) + 1;
    lines.push(lineAt(text, from, Math.min(end, from + longestLine)));
    end = from - 1;
  }
  return lines;
}

function linesOf(text: string): LineCounter {
  const lines = new (yaml().LineCounter)();
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1);
  return lines;
}

function parseText(text: string): Document {
  const document = parsedWithin(text, hideBraces(text));
  if (text.includes('${')) {
    yaml().visit(document, {
      Scalar(_, node) {
        if (typeof node.value === 'string') node.value = showBraces(node.value);
      },
    });
  }
  return document;
}

// safety: the parser's own warnings go to stderr, and quote the file without a mask
const parse = (text: string): Document =>
  yaml().parseDocument(text, { merge: true, uniqueKeys: true, prettyErrors: false, logLevel: 'error' });

/**
 * Parses a text. A reference without its closing brace, `{ api_key: "${NAME" }`, may have taken a brace of YAML. So a text
 * with faults is parsed again with references that end at a quote, and the fault is found at its place.
 */
function parsedWithin(text: string, hidden: string): Document {
  const document = parse(hidden);
  if (document.errors.length === 0) return document;
  const bounded = hideBraces(text, /\$\{([^{}\n"']*)\}/g);
  const other = bounded === hidden ? document : parse(bounded);
  return other.errors.length < document.errors.length ? other : document;
}

/**
 * Replaces the braces of `${NAME}` by two private characters before the text is parsed, because in a flow map YAML would take
 * the braces for its own. One character replaces one character, so positions stay true.
 */
export const hideBraces = (text: string, reference = /\$\{([^{}\n]*)\}/g): string => text.replaceAll(reference, '$$\uE000$1\uE001');
export const showBraces = (text: string): string => text.replaceAll(/\$\uE000([^\uE001]*)\uE001/g, '$${$1}');

/**
 * The position of the value at a path, or of its key. Where the text does not have it (a default), the position of its nearest ancestor.
 */
export function locate(source: Source, path: Path, at: 'key' | 'value'): Position {
  for (let length = path.length; length >= 0; length -= 1) {
    const { key, value } = source.find(path.slice(0, length));
    const range = at === 'key' && length === path.length ? (key ?? value) : (value ?? key);
    if (range !== null) return source.position(range);
  }
  return source.position([0, 0]);
}

/** The line of the value at a path: `gateway.config.yaml:12`. */
export function lineOf(source: Source, path: Path): string {
  const { file, line } = locate(source, path, 'value');
  return `${file}:${line}`;
}

/** The scalar at a path as the text writes it, with aliases followed; null where there is none. */
export function literalAt(source: Source, path: Path): string | null {
  if (source.json.value === null) {
    const node = nodeAt(source.document, path);
    return yaml().isScalar(node) ? (node.source ?? null) : null;
  }
  const { value } = source.find(path);
  return value === null ? null : source.text.slice(...value);
}

const rangeOf = (node: Node | null): Range | null => (node?.range ? [node.range[0], node.range[1]] : null);

function rangesAt(document: Document, path: Path): Ranges {
  const { key, value } = nodesAt(document, path);
  return { key: rangeOf(key), value: rangeOf(value) };
}

/** The value node at a path, with aliases followed; null where there is none. */
export const nodeAt = (document: Document, path: Path): Node | null => follow(document, nodesAt(document, path).value);

/** The key node and the value node at a path, as the text has them: a last alias is not followed. */
function nodesAt(document: Document, path: Path): { key: Node | null; value: Node | null } {
  const { isMap, isNode, isSeq } = yaml();
  let key: Node | null = null;
  let value: Node | null = document.contents;
  for (const step of path) {
    const holder = follow(document, value);
    const found: Pair | undefined = isMap(holder) ? pairIn(document, holder, String(step)) : undefined;
    const item: unknown = isSeq(holder) ? holder.items[Number(step)] : found?.value;
    key = isNode(found?.key) ? found.key : null;
    value = isNode(item) ? item : null;
    if (key === null && value === null) break;
  }
  return { key, value };
}

/**
 * The key of a merge: `<<: *base` takes the fields of another map, `<<: [*one, *two]`
 * those of several. A map's own field, and a field of an earlier map, comes first.
 */
export const mergeKey = '<<';

function pairIn(document: Document, map: YAMLMap, name: string): Pair | undefined {
  const { isMap, isNode, isSeq } = yaml();
  const own = map.items.find(({ key }) => keyText(key) === name);
  if (own !== undefined || name === mergeKey) return own;
  const merged = map.items.filter(({ key }) => keyText(key) === mergeKey).flatMap(({ value }) => (isSeq(value) ? value.items : [value]));
  for (const source of merged) {
    const base = isNode(source) ? follow(document, source) : null;
    const found = isMap(base) ? pairIn(document, base, name) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const follow = (document: Document, node: Node | null): Node | null => (yaml().isAlias(node) ? (targetOf(document, node) ?? null) : node);

const targets = new WeakMap<Document, ReadonlyMap<Alias, Node | undefined>>();

/** The value that an alias names: that of the last anchor above it. cost: alias.resolve() visits the whole document each time */
export function targetOf(document: Document, alias: Alias): Node | undefined {
  const known = targets.get(document) ?? allTargets(document);
  targets.set(document, known);
  return known.get(alias);
}

function allTargets(document: Document): ReadonlyMap<Alias, Node | undefined> {
  const { isAlias, visit } = yaml();
  const anchors = new Map<string, Node>();
  const found = new Map<Alias, Node | undefined>();
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) found.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return found;
}

/** The name that a key node has in the resulting object. */
export function keyText(key: unknown): string {
  const name = yaml().isScalar(key) ? key.value : key;
  // the reader gives a symbol for a merge key
  return typeof name === 'symbol' ? (name.description ?? '') : String(name);
}
