/**
 * Expands references in scalars: `${NAME}`, `${NAME:-default}`, `${file:/run/secrets/x}`, and `$$` for a dollar. The expansion
 * changes what was parsed, never the text, so a value from outside is always one scalar and cannot add YAML.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Document, Node } from 'yaml';
import type { Findings } from './problems.ts';
import { keyOf, startsWith, whyUnreadable } from './problems.ts';
import type { Path, Source } from './source.ts';
import { keyText, mergeKey, nodeAt } from './source.ts';
import { yaml } from './yaml/parser.ts';
import { isFields } from '../core/wire/fields.ts';

interface Missing {
  readonly path: Path;
  readonly variable: string;
}

/** The references that one file has. */
export interface Expansion {
  /** The text of the value at a path before its expansion; null where it had no reference. */
  readonly unexpanded: (path: Path) => string | null;
  /** A text about the value at a path, with each expanded value in it replaced by its reference. */
  readonly hidden: (path: Path, text: string) => string;
  /** References inside a provider to variables that are not set. Such a provider is off. */
  readonly missing: readonly Missing[];
  /** Absolute paths of all `${file:...}` references. */
  readonly files: readonly string[];
}

/** The expansion of a file without references. */
export const nothing: Expansion = { unexpanded: () => null, hidden: (_, text) => text, missing: [], files: [] };

const reference = /\$\$|\$\{([^}]*)(\}?)/g;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
const hasReference = /\$\$|\$\{/;
/** `$NAME` without braces. Other programs expand it, and the gateway does not: the text itself would become the value. */
const bare = /^\$[A-Z_][A-Z0-9_]*$/;

/** A value of fewer characters may be a part of any word, and is no secret. */
const shortestSecret = 4;

/** What expanding needs. */
interface ExpandContext {
  readonly source: Source;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Gets the references that are malformed, or whose variable or file does
   * not exist; inside a provider such references are `missing` instead.
   */
  readonly findings: Findings;
}

/** Expands one scalar after the other. An empty variable counts as one that is not set. */
class Expander {
  readonly missing: Missing[] = [];
  readonly files: string[] = [];
  /** The values of references, by the reference as it is written. */
  readonly #brought = new Map<string, string>();
  readonly #context: ExpandContext;

  constructor(context: ExpandContext) {
    this.#context = context;
  }

  /** The text with its references expanded; null where it has none. */
  expanded(text: string, pathOf: () => Path): string | null {
    const { source, findings } = this.#context;
    if (bare.test(text)) {
      findings.error({ source, path: pathOf() }, `${text} is not expanded`, `write \${${text.slice(1)}}, or $${text} for the text itself`);
    }
    if (!hasReference.test(text)) return null;
    const path = pathOf();
    return text.replaceAll(reference, (match, inside: string | undefined, close: string) => {
      if (inside === undefined) return '$';
      try {
        if (close === '') throw new Error(`"${match.slice(0, 20)}" has no closing brace, write \${NAME}, and $$ for a dollar`);
        const value = this.#valueOf(inside, path);
        this.#brought.set(match, value);
        return value;
      } catch (fault) {
        findings.error({ source, path }, (fault as Error).message);
        return '';
      }
    });
  }

  /** The results, when all values are expanded. */
  expansion(unexpanded: Expansion['unexpanded']): Expansion {
    return { unexpanded, hidden: (path, text) => this.#hidden(unexpanded(path), text), missing: this.missing, files: this.files };
  }

  #hidden(written: string | null, text: string): string {
    let shown = text;
    const brought = (written?.match(reference) ?? []).map((one) => ({ one, value: this.#brought.get(one) ?? '' }));
    // safety: the longest value first. A shorter value may begin a longer one, and the rest of the longer one would stay
    for (const { one, value } of brought.sort((a, b) => b.value.length - a.value.length)) {
      if (value.length < shortestSecret) continue;
      // a reference in the text stays as it is, even where its default is the value
      const parts = shown.split(one).map((part) => part.replaceAll(value, () => one));
      shown = parts.join(one);
    }
    return shown;
  }

  #valueOf(text: string, path: Path): string {
    const { source, env, findings } = this.#context;
    if (text.startsWith('file:')) {
      const file = resolve(dirname(source.file), text.slice('file:'.length));
      this.files.push(file);
      return readSecretFile(file);
    }
    const [, name = '', fallback] = variable.exec(text) ?? [];
    if (text.includes('${')) {
      throw new Error('a reference cannot stand inside another one, set the variable itself where the gateway is started');
    }
    if (name === '') {
      throw new Error(`"\${${text}}" is not a valid reference, write \${NAME}, \${NAME:-default} or \${file:/path}, and $$ for a dollar`);
    }
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    if (path[0] === 'providers' && path.length > 2) this.missing.push({ path, variable: name });
    else findings.error({ source, path }, `${name} is not set`, `set the variable, or write \${${name}:-a default}`);
    return '';
  }
}

/** Expands the values of a file in place. They are what JSON can hold. */
export function expandValues(root: Record<string, unknown>, context: ExpandContext): Expansion {
  if (!context.source.mayHold('$')) return nothing;
  const expander = new Expander(context);
  const written = new Map<string, string>();
  const path: (string | number)[] = [];
  const expandIn = (holder: Record<string | number, unknown>, key: string | number): void => {
    const value = holder[key];
    path.push(key);
    if (typeof value === 'string') {
      const expanded = expander.expanded(value, () => [...path]);
      if (expanded !== null) {
        written.set(keyOf(path), value);
        holder[key] = expanded;
      }
    } else if (Array.isArray(value)) for (const at of value.keys()) expandIn(value as unknown as Record<number, unknown>, at);
    else if (isFields(value)) for (const name of Object.keys(value)) expandIn(value, name);
    path.pop();
  };
  for (const name of Object.keys(root)) expandIn(root, name);
  const unexpanded = (at: Path): string | null => written.get(keyOf(at)) ?? null;
  return expander.expansion(unexpanded);
}

/** Expands the scalars of `source.document` in place. */
export function expandDocument(context: ExpandContext): Expansion {
  const { source } = context;
  if (!source.mayHold('$')) return nothing;
  const expander = new Expander(context);
  const written = new Map<Node, string>();
  yaml().visit(source.document, {
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string') return;
      const expanded = expander.expanded(node.value, () => pathOf(key, ancestors));
      if (expanded === null) return;
      written.set(node, node.value);
      node.value = expanded;
    },
  });
  const { missing } = expander;
  const unexpanded = (path: Path): string | null => {
    const node = written.size === 0 ? null : nodeAt(source.document, path);
    return node === null ? null : (written.get(node) ?? null);
  };
  return { ...expander.expansion(unexpanded), missing: missing.length === 0 ? missing : throughAliases(missing, source.document) };
}

/** A variable that is missing at an anchor is missing at each place that takes the anchor's value, directly or by a merge key. */
function throughAliases(missing: readonly Missing[], document: Document): readonly Missing[] {
  const all = [...missing];
  const anchors = new Map<string, Path>();
  const { isAlias, isMap, visit } = yaml();
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

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (fault) {
    throw new Error(`cannot read ${file}: ${whyUnreadable(fault)}`, { cause: fault });
  }
}

/** The path of the node that `visit` is at, made from the pairs and the list positions above it. */
function pathOf(key: number | 'key' | 'value' | null, ancestors: readonly unknown[]): Path {
  const { isPair, isScalar } = yaml();
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
