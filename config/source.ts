/** One file of YAML or JSON: its text, what it holds, and where each value stands. */
import type { Document, Node, Pair } from 'yaml';
import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Json, Range, Ranges } from './json.ts';
import { createFinder, readJson } from './json.ts';

export type Path = readonly (string | number)[];

/** A stretch of a file, as a problem shows it. */
export interface Position {
  /** As the caller named the config file: relative where that was relative. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly col: number;
  /** The line of text, its secrets masked. */
  readonly source: string;
  /** Characters that are at fault, from `col`. */
  readonly length: number;
}

export interface Source {
  /** Absolute. */
  readonly file: string;
  /** As problems show it. */
  readonly shown: string;
  readonly text: string;
  /** The whole of it, where it is JSON of the kind that is read as such. */
  readonly json: Json;
  /** As YAML. Made when it is asked for, which for JSON is never. */
  readonly document: Document;
  /** Whether a value can hold this text. cost: a visit of every node is a tenth of the reading of a large catalogue, which has none of what is looked for. */
  mayHold(text: string): boolean;
  /** Where a path leads to. */
  find(path: Path): Ranges;
  /** Where a stretch of the text is; lines have their secrets masked. */
  position(range: Range): Position;
}

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
    // an escape can stand for any letter
    mayHold: (wanted) => text.includes(wanted) || text.includes('\\'),
    position([start, end]) {
      const { line, col } = (lines ??= linesOf(text)).linePos(start);
      const from = start - col + 1;
      const content = lineAt(text, from, from + longestLine + 1);
      const marked = lineAt(text, start, Math.min(end, start + longestLine)).trimEnd();
      return { file: shown, line, col, source: content.length > longestLine ? '' : maskSecrets(content), length: Math.max(marked.length, 1) };
    },
  };
}

/** cost: a program may write a whole catalogue on one line, and it would be masked for each fault in it: 30 ms a megabyte. */
const longestLine = 4096;

/** What there is between two places, up to the end of the line. */
const lineAt = (text: string, start: number, end: number): string => /^[^\r\n]*/.exec(text.slice(start, end))?.[0] ?? '';

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1);
  return lines;
}

function parseText(text: string): Document {
  const document = parseDocument(hideBraces(text), { uniqueKeys: true, prettyErrors: false });
  if (text.includes('${')) {
    visit(document, {
      Scalar(_, node) {
        if (typeof node.value === 'string') node.value = showBraces(node.value);
      },
    });
  }
  return document;
}

/**
 * In a flow map YAML takes the braces of `${NAME}` for its own. While it parses they are two private characters, one for
 * one, so that positions stay true.
 */
const hideBraces = (text: string): string => text.replaceAll(/\$\{([^{}\n]*)\}/g, '$$\uE000$1\uE001');
const showBraces = (text: string): string => text.replaceAll(/\$\uE000([^\uE001]*)\uE001/g, '$${$1}');

/** Where the value at a path is, or the key above it; the nearest ancestor in the text where it is in neither. */
export function locate(source: Source, path: Path, at: 'key' | 'value'): Position {
  for (let length = path.length; length >= 0; length -= 1) {
    const { key, value } = source.find(path.slice(0, length));
    const range = at === 'key' && length === path.length ? (key ?? value) : (value ?? key);
    if (range !== null) return source.position(range);
  }
  return source.position([0, 0]);
}

/** The scalar at a path as it is written, aliases followed. */
export function literalAt(source: Source, path: Path): string | null {
  if (source.json.value === null) {
    const node = nodeAt(source.document, path);
    return isScalar(node) ? (node.source ?? null) : null;
  }
  const { value } = source.find(path);
  return value === null ? null : source.text.slice(...value);
}

const rangeOf = (node: Node | null): Range | null => (node?.range ? [node.range[0], node.range[1]] : null);

function rangesAt(document: Document, path: Path): Ranges {
  const { key, value } = nodesAt(document, path);
  return { key: rangeOf(key), value: rangeOf(value) };
}

/** The value node at a path, aliases followed. */
export const nodeAt = (document: Document, path: Path): Node | null => follow(document, nodesAt(document, path).value);

/** The key and the value of a path as they stand in the text. */
function nodesAt(document: Document, path: Path): { key: Node | null; value: Node | null } {
  let key: Node | null = null;
  let value: Node | null = document.contents;
  for (const step of path) {
    const holder = follow(document, value);
    const found: Pair | undefined = isMap(holder) ? holder.items.find((pair) => keyText(pair.key) === String(step)) : undefined;
    const item: unknown = isSeq(holder) ? holder.items[Number(step)] : found?.value;
    key = isNode(found?.key) ? found.key : null;
    value = isNode(item) ? item : null;
    if (key === null && value === null) break;
  }
  return { key, value };
}

const follow = (document: Document, node: Node | null): Node | null => (isAlias(node) ? (node.resolve(document) ?? null) : node);

/** A key as it reads in the resulting object. */
export const keyText = (key: unknown): string => String(isScalar(key) ? key.value : key);

const secretSetting = /((?:\b\w*_key|\b\w*-key|\bkey|\b\w*token|\b\w*secret\w*|\baccess_key_id|\b\w*password|\bauthorization)["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^,}\]]+)/gi;

// safety: a problem quotes its line, and the line may hold a key that is written out
const maskSecrets = (line: string): string =>
  line.replaceAll(secretSetting, (_, setting: string, value: string) => setting + (/\$\{[^}]*\}?/.test(value) ? value : value.replaceAll(/[^\s"']/g, '*')));

/** Whether a setting of this name holds a secret, so that its value must not be quoted. */
export const isSecretName = (name: string | number | undefined): boolean => typeof name === 'string' && /(^|[_-])(key|token|password|authorization|access_key_id)$|secret/i.test(name);
