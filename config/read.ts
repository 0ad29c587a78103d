/** Reads the config file and its includes: parses them and expands their references. It does not check them against the schema. */
import { globSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Expansion } from './expand.ts';
import { expandDocument, expandValues, nothing } from './expand.ts';
import { packageFolder } from '../core/version.ts';
import { fieldsOf, listOf } from '../core/wire/fields.ts';
import { readQuickYaml } from './yaml/quick.ts';
import type { Findings } from './problems.ts';
import type { Source } from './source.ts';
import { parseSource } from './source.ts';
import { yaml } from './yaml/parser.ts';
import { readShipped } from './yaml/shipped.ts';
import { brokenAliases, endlessAliases, faultyLines, inWords, rangeOf } from './yaml/faults.ts';

/** One file as it was read, and the files that it includes. */
export interface Reading {
  readonly source: Source;
  readonly expansion: Expansion;
  /** The root map; empty where the file could not be read as a map. */
  readonly value: Record<string, unknown>;
  /** Its `models` before defaults are filled in, where the file includes others: they are laid over the included ones. */
  readonly written: readonly unknown[];
  readonly includes: readonly Reading[];
  /** Whether the file was read as a map and every file that it includes exists. */
  readonly isComplete: boolean;
}

/** What reading needs besides the path. */
interface ReadContext {
  /** Variables for references. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly findings: Findings;
  /** Absolute paths of all files that were read or looked for. Reading adds to this list. */
  readonly files: string[];
}

const mebibyte = 1024 * 1024;
/**
 * The limit for one file in bytes. It has room for 20,000 models with five
 * mappings and prices each, and refuses a data file that is named by mistake.
 */
const largest = 16 * mebibyte;
// cost: parsing YAML takes half a second per MiB, JSON a sixth of that, and during a reload the process does nothing else
const largestYaml = 4 * mebibyte;
const largeYaml = mebibyte;
/**
 * How often an anchor may be used, the aliases inside of it multiplied.
 * safety: aliases of aliases make a small file stand for more values than fit into memory
 */
const aliasesAtMost = 10_000;

/**
 * Reads a config file and its includes. Faults are reported to `context.findings`; nothing is thrown.
 * @param shown the path as the user gave it; problems name included files relative to it
 */
export function readConfig(shown: string, context: ReadContext): Reading {
  const main = resolve(shown);
  const visited = new Set<string>();

  function read(file: string): Reading {
    const place = file === main ? shown : join(dirname(shown), relative(dirname(main), file));
    visited.add(realPath(file));
    context.files.push(file);
    const { text, fault, hint } = readText(file);
    const source = parseSource(file, place, text ?? '');
    if (fault !== null) {
      context.findings.error({ source, path: [] }, fault, hint);
      return { source, expansion: nothing, value: {}, written: [], includes: [], isComplete: false };
    }
    const parsed = toValue(source, context);
    context.findings.hide(source, parsed.expansion.hidden);
    if (file !== main) refuseMainBlocks(source, parsed.value, context.findings);
    const wanted = includedFiles(source, parsed.value, context);
    // a file that is included twice is read once, at its first include
    const includes = wanted.flatMap((path) => (visited.has(realPath(path)) ? [] : [read(path)]));
    const { models } = parsed.value;
    const written = includes.length > 0 && Array.isArray(models) ? (structuredClone(models) as unknown[]) : [];
    return {
      source,
      ...parsed,
      written,
      includes,
      isComplete: parsed.isComplete && context.findings.isSound({ source, path: ['include'] }),
    };
  }

  return read(main);
}

interface FileText {
  readonly text: string | null;
  readonly fault: string | null;
  readonly hint: string | null;
}

function readText(file: string): FileText {
  try {
    if (statSync(file).size > largest) {
      return {
        text: null,
        fault: `is larger than ${largest / mebibyte} MiB`,
        hint: 'split it into JSON files and name them under `include`',
      };
    }
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)), fault: null, hint: null };
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const isLink = code === 'ENOENT' && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    const [fault, hint = null] = unreadable[isLink ? 'link' : code] ?? [`cannot be read (${code})`];
    return { text: null, fault, hint };
  }
}

/** The messages by error code: what is wrong, and what to do. */
const unreadable: Readonly<Record<string, readonly [fault: string, hint?: string]>> = {
  ENOENT: ['no such file', 'create it, or name another with --config'],
  link: ['is a link to a file that does not exist', 'create that file, or remove the link'],
  EISDIR: ['is a folder, not a file', 'name a file with --config'],
  EACCES: ['cannot be read (permission denied)', 'let the user of the gateway read it'],
  ERR_ENCODING_INVALID_ENCODED_DATA: ['is not UTF-8 text', 'save it as UTF-8'],
};

type Parsed = Pick<Reading, 'value' | 'expansion' | 'isComplete'>;

// safety: the check of a value fills in defaults, so each file needs a value of its own
const unread = (): Parsed => ({ value: {}, expansion: nothing, isComplete: false });

function toValue(source: Source, context: ReadContext): Parsed {
  const { text, json } = source;
  if (json.value !== null) return { value: withoutAbsent(json.value), expansion: nothing, isComplete: true };
  const size = Buffer.byteLength(text);
  const isNot = `but this file is not read as JSON: ${json.why}`;
  if (size > largestYaml) {
    context.findings.errorAt(
      { source, range: [0, 1] },
      `is larger than ${largestYaml / mebibyte} MiB, the limit for YAML; JSON may have ${largest / mebibyte} MiB, ${isNot}`,
    );
    return unread();
  }
  if (size > largeYaml) {
    context.findings.warn(
      { source, path: [] },
      'is large for YAML: each reload delays all requests',
      `JSON is read in a sixth of the time, ${isNot}`,
    );
  }
  const quick = readShipped(text) ?? readQuickYaml(text);
  return quick === null ? fromYaml(source, context) : fromQuick(quick, source, context);
}

function fromQuick(value: Record<string, unknown>, source: Source, { env, findings, files }: ReadContext): Parsed {
  const expansion = expandValues(value, { source, env, findings });
  files.push(...expansion.files);
  return { value: withoutAbsent(value), expansion, isComplete: true };
}

function fromYaml(source: Source, { env, findings, files }: ReadContext): Parsed {
  const { document } = source;
  const { isMap, isScalar } = yaml();
  const faults = [...document.errors, ...document.warnings];
  const lines = faults.length > 0 ? faultyLines(source.text) : [];
  for (const { range, message, fix } of lines) findings.errorAt({ source, range }, message, fix);
  if (lines.length > 0) return unread();
  let line = 0;
  for (const fault of faults) {
    const place = source.position(fault.pos);
    // after the reader has lost its place, the rest of the line shows more faults
    if (place.line === line) continue;
    line = place.line;
    const { message, fix } = inWords(fault);
    findings.errorAt({ source, range: rangeOf(fault, document) }, quoted(message, place.source), fix);
  }
  // after a syntax fault the parser guesses, and further faults would be about its guesses
  if (faults.some(({ code }) => code !== 'DUPLICATE_KEY')) return unread();
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    findings.error({ source, path: [] }, 'is empty', 'begin with providers: and models:');
    return unread();
  }
  if (!isMap(document.contents)) {
    findings.errorAt({ source, range: [0, 1] }, 'expected a map at the top, such as providers: and models:');
    return unread();
  }
  refusePrototypes(source, findings);
  const endless = source.mayHold('&') ? endlessAliases(document) : [];
  if (endless.length > 0) {
    for (const { range, message, fix } of endless) findings.errorAt({ source, range }, message, fix);
    return unread();
  }
  const expansion = expandDocument({ source, env, findings });
  files.push(...expansion.files);
  try {
    return {
      value: withoutAbsent(document.toJS({ maxAliasCount: aliasesAtMost }) as Record<string, unknown>),
      expansion,
      isComplete: true,
    };
  } catch (thrown) {
    const { message: said } = thrown as Error;
    const broken = brokenAliases(document);
    for (const { range, message, fix } of broken) findings.errorAt({ source, range }, message, fix);
    const reason = said.startsWith('Excessive alias count')
      ? `an alias is replaced by more than ${aliasesAtMost} values`
      : quoted(said, '');
    if (broken.length === 0) {
      findings.errorAt({ source, range: [0, 1] }, `the YAML aliases of this file cannot be resolved (${reason}), write the values out`);
    }
    return { ...unread(), expansion };
  }
}

/**
 * The message of the YAML reader.
 * safety: some messages end with a piece of the file, which may be a secret. The piece stays only if the masked line shows it too.
 * @param line the line of the fault, with its secrets masked
 */
const quoted = (message: string, line: string): string =>
  message.replace(/(?<=token in YAML stream|extra characters|Unresolved alias[^:]*): "?(.*?)"?$/s, (all, piece: string) =>
    line.includes(piece) ? all : '',
  );

/** Removes blocks that are null: where all entries of a block are commented out, the block counts as absent. */
const withoutAbsent = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, block]) => block !== null));

/** Reports and removes `__proto__` keys: copied into an object, such a key would set its prototype. */
function refusePrototypes(source: Source, findings: Findings): void {
  if (!source.mayHold('__proto__')) return;
  const { isScalar, visit } = yaml();
  visit(source.document, {
    Pair(_, { key }) {
      if (!isScalar(key) || key.value !== '__proto__') return undefined;
      findings.errorAt(
        { source, range: [key.range?.[0] ?? 0, key.range?.[1] ?? 1] },
        'the key "__proto__" is refused, choose another name',
      );
      return visit.REMOVE;
    },
  });
}

const mainBlocks = ['server', 'plugins', 'limits', 'redis', 'alerts'] as const;

/** Reports blocks that an included file must not have: they decide for the whole gateway, so they must be in the main file. */
function refuseMainBlocks(source: Source, value: Record<string, unknown>, findings: Findings): void {
  const refuse = (...path: string[]): void =>
    findings.error({ source, path, at: 'key' }, 'cannot be in an included file', 'move it to the main config file');
  for (const block of mainBlocks) if (value[block] !== undefined) refuse(block);
  if ('default' in fieldsOf(value['routing'])) refuse('routing', 'default');
}

/** The prefix for files that come with the gateway, wherever it is installed. */
const ofPackage = 'model-gateway/';

function includedFiles(source: Source, { include }: Record<string, unknown>, { findings, files: looked }: ReadContext): string[] {
  return listOf(include).flatMap((pattern, index) => {
    if (typeof pattern !== 'string' || pattern === '') return [];
    const place = { source, path: ['include', index] };
    const isShipped = pattern.startsWith(ofPackage);
    const from = isShipped ? packageFolder : dirname(source.file);
    const name = isShipped ? pattern.slice(ofPackage.length) : pattern;
    const isGlob = /[*?[{]|[+@!]\(/.test(name);
    // cost: for a single file, Node's glob takes a hundredth of the time of a start, and 2 MB
    const matches = isGlob ? globbed(name, from) : [resolve(from, name)].filter(isThere);
    // a file that is created later is a change too. The folder's name is no pattern, so ? (any character) replaces its special characters
    looked.push(resolve(isGlob ? from.replaceAll(/[*?[\]{}()]/g, '?') : from, name));
    // safety: a folder that was renamed or emptied would take its models from a running gateway
    if (matches.length === 0) {
      findings.error(
        place,
        isGlob ? 'matches no file' : `no such file: ${pattern}`,
        isAbsolute(pattern) ? null : `it is looked for in ${from}`,
      );
    }
    if (!isGlob && matches.some((match) => realPath(match) === realPath(source.file))) {
      findings.refuse(place, 'is this file itself', 'name another file, or remove it');
    }
    const files = matches.filter((match) => !isFolder(match));
    if (files.length < matches.length) {
      findings.error(place, 'is a folder, and `include` takes files', `for example ${pattern.replace(/\/+$/, '')}/*.yaml`);
    }
    return files;
  });
}

const globbed = (pattern: string, folder: string): string[] =>
  globSync(pattern, { cwd: folder })
    .map((match) => resolve(folder, match))
    .filter(mayBeRead)
    .toSorted();

/** Whether the path exists. A link to a missing file counts: its fault is reported when it is read. */
function isThere(file: string): boolean {
  try {
    return lstatSync(file) !== undefined;
  } catch {
    return false;
  }
}

/** False for folders. A link to a missing file counts: its fault is reported when it is read. */
function mayBeRead(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return true;
  }
}

/** False for a path that cannot be examined: its fault is reported when it is read. */
function isFolder(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch {
    return false;
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
