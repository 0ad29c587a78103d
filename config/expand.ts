/**
 * Expands references in scalars: `${NAME}`, `${NAME:-default}`, `${file:/run/secrets/x}`, and `$$` for a dollar. The expansion
 * changes the parsed tree, never the text, so a value from outside is always one scalar and cannot add YAML.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Document, Node } from 'yaml';
import { isAlias, isMap, isPair, isScalar, visit } from 'yaml';
import type { Findings } from './problems.ts';
import { startsWith } from './problems.ts';
import type { Path, Source } from './source.ts';
import { keyText, mergeKey, nodeAt } from './source.ts';

interface Missing {
  readonly path: Path;
  readonly variable: string;
}

/** The references that one file has. */
export interface Expansion {
  /** For each scalar that had references: its text before the expansion. */
  readonly written: ReadonlyMap<Node, string>;
  /** References inside a provider to variables that are not set. Such a provider is off. */
  readonly missing: readonly Missing[];
  /** Absolute paths of all `${file:...}` references. */
  readonly files: readonly string[];
}

const reference = /\$\$|\$\{([^}]*)(\}?)/g;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
const hasReference = /\$\$|\$\{/;
/** `$NAME` without braces. Other programs expand it, and the gateway does not: the text itself would become the value. */
const bare = /^\$[A-Z_][A-Z0-9_]*$/;

/**
 * Expands the scalars of `source.document` in place. An empty variable counts as one that is not set. References that are
 * malformed, or that lead to nothing, are reported to `findings`; inside a provider they are `missing` instead.
 */
export function expand(source: Source, env: Readonly<Record<string, string | undefined>>, findings: Findings): Expansion {
  const written = new Map<Node, string>();
  const missing: Missing[] = [];
  const files: string[] = [];
  if (!source.mayHold('$')) return { written, missing, files };
  visit(source.document, {
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string') return;
      if (bare.test(node.value)) findings.error({ source, path: pathOf(key, ancestors) }, `${node.value} is not expanded`, `write \${${node.value.slice(1)}}, or $${node.value} for the text itself`);
      if (!hasReference.test(node.value)) return;
      const path = pathOf(key, ancestors);
      const place = { source, path };
      const resolveReference = (text: string): string => {
        if (text.startsWith('file:')) {
          const file = resolve(dirname(source.file), text.slice('file:'.length));
          files.push(file);
          return readSecretFile(file);
        }
        const [, name = '', fallback] = variable.exec(text) ?? [];
        if (text.includes('${')) throw new Error('a reference cannot stand inside another one, set the variable itself where the gateway is started');
        if (name === '') throw new Error(`"\${${text}}" is not a valid reference, write \${NAME}, \${NAME:-default} or \${file:/path}, and $$ for a dollar`);
        const value = env[name];
        if (value !== undefined && value !== '') return value;
        if (fallback !== undefined) return fallback;
        if (path[0] === 'providers' && path.length > 2) missing.push({ path, variable: name });
        else findings.error(place, `${name} is not set`, `set the variable, or write \${${name}:-a default}`);
        return '';
      };
      written.set(node, node.value);
      node.value = node.value.replaceAll(reference, (match, text: string | undefined, close: string) => {
        if (text === undefined) return '$';
        try {
          if (close === '') throw new Error(`"${match.slice(0, 20)}" has no closing brace, write \${NAME}, and $$ for a dollar`);
          return resolveReference(text);
        } catch (fault) {
          findings.error(place, (fault as Error).message);
          return '';
        }
      });
    },
  });
  return { written, missing: missing.length === 0 ? missing : throughAliases(missing, source.document), files };
}

/** What is missing at an anchor is missing at each place that takes the anchor's value, whole or by a merge key. */
function throughAliases(missing: readonly Missing[], document: Document): readonly Missing[] {
  const all = [...missing];
  const anchors = new Map<string, Path>();
  visit(document, {
    Node(key, node, ancestors) {
      const path = pathOf(key, ancestors);
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.set(node.anchor, path);
        return;
      }
      const from = anchors.get(node.source) ?? path;
      const merge = path.indexOf(mergeKey);
      const to = merge < 0 ? path : path.slice(0, merge);
      const own = merge < 0 ? undefined : ancestors.findLast(isMap);
      for (const one of all.filter(({ path: at }) => startsWith(at, from))) {
        const rest = one.path.slice(from.length);
        if (own?.has(rest[0]) !== true) all.push({ ...one, path: [...to, ...rest] });
      }
    },
  });
  return all;
}

/** The text of the value at a path before expansion, where it had a reference; null where the value stands in the file itself. */
export function writtenAs(source: Source, expansion: Expansion, path: Path): string | null {
  if (expansion.written.size === 0) return null;
  const node = nodeAt(source.document, path);
  return node === null ? null : (expansion.written.get(node) ?? null);
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (fault) {
    throw new Error(`cannot read ${file} (${(fault as NodeJS.ErrnoException).code ?? 'unknown'})`, { cause: fault });
  }
}

/** The path of the node that `visit` is at, made from the pairs and the list positions above it. */
function pathOf(key: number | 'key' | 'value' | null, ancestors: readonly unknown[]): Path {
  const path: (string | number)[] = [];
  ancestors.forEach((ancestor, index) => {
    if (isPair(ancestor)) path.push(isScalar(ancestor.key) ? keyText(ancestor.key) : '?');
    const below = ancestors[index + 1];
    const items: unknown = (ancestor as { items?: unknown }).items;
    if (Array.isArray(items) && below !== undefined && !isPair(below)) path.push(items.indexOf(below));
  });
  if (typeof key === 'number') path.push(key);
  return path;
}
