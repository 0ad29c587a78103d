/** The files of a config as the operator wrote them, for people who may not see the secrets in them. */
import { readFile, stat } from 'node:fs/promises';
import type { Document, Node } from 'yaml';
import { maskable, saysSecret } from '../core/secret.ts';
import { tellWritten } from '../core/host/reloads/written.ts';
import type { ConfigFinding, Written, WrittenText } from '../core/host/reloads/written.ts';
import type { Range } from './json.ts';
import type { Loaded } from './load.ts';
import { isSecretName, maskPart, mostAbove } from './masks.ts';
import type { Problem } from './problems.ts';
import { keyText } from './source.ts';
import { yaml } from './yaml/parser.ts';

/** Returns what was loaded. From now on the dashboard shows its findings and its files. */
export function told(loaded: Loaded): Loaded {
  tellWritten(writtenBy(loaded));
  return loaded;
}

export function writtenBy(loaded: Loaded): Written {
  const findings = loaded.ok
    ? loaded.warnings.map((one) => findingOf(one, one.isFault === true))
    : loaded.problems.map((one) => findingOf(one, true));
  const files = new Map(loaded.sources.map(({ shown, file }) => [shown, file]));
  return { findings, files: [...files.keys()], text: async (name, secrets) => await textOf(files.get(name), secrets) };
}

const findingOf = ({ file, line, path, message, hint }: Problem, isFault: boolean): ConfigFinding => ({
  file,
  line,
  path,
  message,
  hint,
  isFault,
});

/** cost: a parse of half a megabyte takes a quarter of a second, and requests wait for it. */
const largest = 400_000;

async function textOf(file: string | undefined, secrets: readonly string[]): Promise<WrittenText> {
  if (file === undefined) return { why: 'The config has no such file.' };
  try {
    if ((await stat(file)).size > largest) return { why: `It is larger than ${largest / 1000} kB.` };
    return maskedText(await readFile(file, 'utf8'), secrets);
  } catch (thrown) {
    return { why: `It cannot be read now (${(thrown as NodeJS.ErrnoException).code ?? 'unknown'}).` };
  }
}

const stars = '****';
/** Stars in place of a text, on as many lines as the text has. */
const starsFor = (text: string): string => stars + '\n'.repeat(text.split('\n').length - 1);
/** A shorter text may be a part of any word. */
const shortest = 6;

/**
 * A text of YAML or JSON without its known or possible secrets; each line stays at its place.
 * @param secrets texts that are known to be secret
 */
export function maskedText(text: string, secrets: readonly string[]): WrittenText {
  const document = yaml().parseDocument(text, { logLevel: 'silent', uniqueKeys: false });
  // safety: if the text cannot be parsed, it is not known which words are values of secret settings
  if (document.errors.length > 0) {
    return { why: 'It is not valid YAML now, so nobody can tell which of its texts are secrets. It is shown again when it is valid.' };
  }
  let masked = withoutRanges(text, secretRanges(document));
  for (const secret of maskable(secrets, shortest)) masked = masked.replaceAll(secret, starsFor(secret));
  const lines = masked.split('\n');
  // masks comments, and words with the shape of a secret under any name
  const shown = lines.map((line, at) => maskPart(line, lines.slice(Math.max(0, at - mostAbove), at).toReversed()));
  return { text: shown.join('\n').replaceAll(/\*{4,}/g, stars) };
}

/** The places of the values of secret settings, found by their names and by the names around them. */
function secretRanges(document: Document): Range[] {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  const ranges: Range[] = [];
  const mask = (node: unknown): void => {
    const { range } = node as Node;
    if (range) ranges.push([range[0], range[1]]);
  };
  const seen = new Set<unknown>();
  const walk = (node: unknown, secret: Secrecy): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        // a setting such as `api_key` may have a map by mistake, and a name in the map may be the secret
        if (secret === 'names too' && isScalar(key)) mask(key);
        walk(value, secret ?? secrecyOf(keyText(key), value));
      }
    } else if (isSeq(node)) for (const item of node.items) walk(item, secret);
    else if (isScalar(node) && secret !== null) mask(node);
    else if (isAlias(node) && secret !== null && !seen.has(node)) {
      seen.add(node);
      walk(node.resolve(document), secret);
    }
  };
  walk(document.contents, null);
  return ranges;
}

/** The secret parts of a value; null: none. The names of headers are not secret. */
type Secrecy = 'values' | 'names too' | null;

function secrecyOf(name: string, value: unknown): Secrecy {
  const { isMap, isSeq } = yaml();
  // `keys` is a list of maps, each with its own secrets; a list of texts under that name holds keys
  if (name === 'keys' && isSeq(value) && value.items.every(isMap)) return null;
  return isSecretName(name) ? 'names too' : saysSecret(name) ? 'values' : null;
}

const reference = /^(["']?)\$\{([\w:/.-]*?)(:-[^}]*)?\}\1$/;

/** What is shown of a secret value. A reference to a variable or a file is not secret, but its default may be. */
function shownOf(value: string): string {
  const [, quote, name, fallback] = reference.exec(value) ?? [];
  if (name === undefined) return starsFor(value);
  return `${quote}\${${name}${fallback === undefined ? '' : `:-${starsFor(fallback)}`}}${quote}`;
}

function withoutRanges(text: string, ranges: readonly Range[]): string {
  let left = text;
  let beyond = text.length;
  // from the end, so that the earlier positions stay right; an alias may lead to a range twice
  for (const [start, end] of ranges.toSorted(([a], [b]) => b - a)) {
    if (end > beyond || start === end) continue;
    beyond = start;
    left = left.slice(0, start) + shownOf(text.slice(start, end)) + left.slice(end);
  }
  return left;
}
