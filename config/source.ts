/** One YAML file: its text, its tree and where each value stands. */
import type { Document, Node, Pair } from 'yaml';
import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Problem } from './problems.ts';

export type Path = readonly (string | number)[];
export type Position = Pick<Problem, 'file' | 'line' | 'col' | 'source' | 'length'>;

export interface Source {
  /** Absolute. */
  readonly file: string;
  /** As problems show it. */
  readonly shown: string;
  readonly text: string;
  /** Made when it is asked for. */
  readonly document: Document;
  /** Whether a value can hold this text. cost: a visit of every node is a tenth of the reading of a large catalogue, which has none of what is looked for. */
  mayHold(text: string): boolean;
  /** Where a stretch of the text is; lines have their secrets masked. */
  position(range: readonly [start: number, end: number]): Position;
}

export function parseSource(file: string, shown: string, text: string): Source {
  const counter = new LineCounter();
  let document: Document | null = null;
  return {
    file,
    shown,
    text,
    get document() {
      return (document ??= parseText(text, counter));
    },
    // an escape can stand for any letter
    mayHold: (wanted) => text.includes(wanted) || text.includes('\\'),
    position([start, end]) {
      const { line, col } = counter.linePos(start);
      const lineStart = counter.lineStarts[line - 1] ?? 0;
      const content = /^[^\r\n]*/.exec(text.slice(lineStart))?.[0] ?? '';
      const marked = content.slice(col - 1, Math.max(col, col - 1 + end - start)).trimEnd();
      return { file: shown, line: Math.max(line, 1), col: Math.max(col, 1), source: maskSecrets(content), length: Math.max(marked.length, 1) };
    },
  };
}

function parseText(text: string, lineCounter: LineCounter): Document {
  const document = parseDocument(hideBraces(text), { lineCounter, uniqueKeys: true, prettyErrors: false });
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
    const { key, value } = nodesAt(source.document, path.slice(0, length));
    const wanted = at === 'key' && length === path.length ? (key ?? value) : (value ?? key);
    const range = wanted?.range;
    if (range) return source.position([range[0], range[1]]);
  }
  return source.position([0, 0]);
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
