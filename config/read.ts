/** The config file and all that it includes: read, parsed, expanded. Not yet checked against the schema. */
import { globSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isMap, isScalar, visit } from 'yaml';
import type { Expansion } from './expand.ts';
import { expand } from './expand.ts';
import type { Findings } from './problems.ts';
import type { Source } from './source.ts';
import { parseSource } from './source.ts';

/** One file, and those that it includes. */
export interface Reading {
  readonly source: Source;
  readonly expansion: Expansion;
  /** The root map; empty where the file could not be read as one. */
  readonly value: Record<string, unknown>;
  readonly includes: readonly Reading[];
  /** It was read as a map, and every file that it names is there. */
  readonly isComplete: boolean;
}

export interface ReadContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly findings: Findings;
  /** Absolute paths of everything that was read or looked for; grows. */
  readonly files: string[];
}

const mebibyte = 1024 * 1024;
/** Bytes of one file: twenty thousand models with five mappings and their prices fit; a data file named by mistake does not. */
const largest = 16 * mebibyte;
// cost: YAML takes half a second a MiB, JSON a sixth of that, and at a reload nothing else is done meanwhile
const largestYaml = 4 * mebibyte;
const largeYaml = mebibyte;
const aliasesAtMost = 20;
const nothing: Expansion = { written: new Map(), missing: [], files: [] };

/** @param shown the path as the user gave it; included files are shown relative to it */
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
      return { source, expansion: nothing, value: {}, includes: [], isComplete: false };
    }
    const parsed = toValue(source, context);
    if (file !== main) refuseMainBlocks(source, parsed.value, context.findings);
    const wanted = includedFiles(source, parsed.value, context.findings);
    // a file that two others include counts once, where it is met first
    const includes = wanted.flatMap((path) => (visited.has(realPath(path)) ? [] : [read(path)]));
    return { source, ...parsed, includes, isComplete: parsed.isComplete && context.findings.isSound({ source, path: ['include'] }) };
  }

  return read(main);
}

interface Read {
  readonly text: string | null;
  readonly fault: string | null;
  readonly hint: string | null;
}

function readText(file: string): Read {
  try {
    if (statSync(file).size > largest) return { text: null, fault: `larger than ${largest / mebibyte} MiB`, hint: 'write it as JSON, in parts that are named under `include`' };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)), fault: null, hint: null };
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const [fault, hint = null] = unreadable[code] ?? [`cannot be read (${code})`];
    return { text: null, fault, hint };
  }
}

/** By error code: what is wrong, and what to do. */
const unreadable: Readonly<Record<string, readonly [fault: string, hint?: string]>> = {
  ENOENT: ['no such file', 'create it, or name another with --config'],
  EISDIR: ['is a folder, not a file', 'name a file with --config'],
  EACCES: ['may not be read (permission denied)'],
  ERR_ENCODING_INVALID_ENCODED_DATA: ['is not UTF-8 text'],
};

type Parsed = Pick<Reading, 'value' | 'expansion' | 'isComplete'>;

const unread: Parsed = { value: {}, expansion: nothing, isComplete: false };

function toValue(source: Source, context: ReadContext): Parsed {
  const { text, json } = source;
  if (json.value !== null) return { value: withoutAbsent(json.value), expansion: nothing, isComplete: true };
  const size = Buffer.byteLength(text);
  const isNot = `but this is not read as such: ${json.why}`;
  if (size > largestYaml) {
    context.findings.errorAt(source, [0, 1], `larger than ${largestYaml / mebibyte} MiB, the most for YAML; JSON may have ${largest / mebibyte}, ${isNot}`);
    return unread;
  }
  if (size > largeYaml) context.findings.warn({ source, path: [] }, 'is large for YAML: a reload holds up every request', `JSON is read in a sixth of the time, ${isNot}`);
  return fromYaml(source, context);
}

function fromYaml(source: Source, { env, findings, files }: ReadContext): Parsed {
  const { document } = source;
  const faults = [...document.errors, ...document.warnings];
  for (const { code, message, pos } of faults) findings.errorAt(source, pos, code === 'DUPLICATE_KEY' ? 'this key stands twice in one map' : `not valid YAML: ${message}`);
  // what follows a syntax fault is guesswork, and so would be the faults found in it
  if (faults.some(({ code }) => code !== 'DUPLICATE_KEY')) return unread;
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    findings.error({ source, path: [] }, 'is empty', 'begin with providers: and models:');
    return unread;
  }
  if (!isMap(document.contents)) {
    findings.errorAt(source, [0, 1], 'expected a map at the top, such as providers: and models:');
    return unread;
  }
  refusePrototypes(source, findings);
  const expansion = expand(source, env, findings);
  files.push(...expansion.files);
  try {
    return { value: withoutAbsent(document.toJS({ maxAliasCount: aliasesAtMost }) as Record<string, unknown>), expansion, isComplete: true };
  } catch (thrown) {
    findings.errorAt(source, [0, 1], `its aliases cannot be followed (${(thrown as Error).message}), write the values out`);
    return { ...unread, expansion };
  }
}

/** A block whose entries are all commented out is an absent block. */
const withoutAbsent = (value: Record<string, unknown>): Record<string, unknown> => Object.fromEntries(Object.entries(value).filter(([, block]) => block !== null));

function refusePrototypes(source: Source, findings: Findings): void {
  if (!source.mayHold('__proto__')) return;
  visit(source.document, {
    Pair(_, { key }) {
      if (!isScalar(key) || key.value !== '__proto__') return undefined;
      findings.errorAt(source, [key.range?.[0] ?? 0, key.range?.[1] ?? 1], 'the key "__proto__" is refused, choose another name');
      return visit.REMOVE;
    },
  });
}

/** What would decide for the whole gateway from a place where nobody looks for it. */
function refuseMainBlocks(source: Source, value: Record<string, unknown>, findings: Findings): void {
  const refuse = (...path: string[]): void => findings.error({ source, path, at: 'key' }, 'does not belong into an included file', 'move it to the main config file');
  const { server, plugins, routing } = value;
  if (server !== undefined) refuse('server');
  if (plugins !== undefined) refuse('plugins');
  if (typeof routing === 'object' && routing !== null && 'default' in routing) refuse('routing', 'default');
}

function includedFiles(source: Source, { include }: Record<string, unknown>, findings: Findings): string[] {
  if (!Array.isArray(include)) return [];
  const folder = dirname(source.file);
  return (include as unknown[]).flatMap((pattern, index) => {
    if (typeof pattern !== 'string' || pattern === '') return [];
    const place = { source, path: ['include', index] };
    const isGlob = /[*?[{]/.test(pattern);
    const matches = globSync(pattern, { cwd: folder }).map((match) => resolve(folder, match)).toSorted();
    if (matches.length === 0 && isGlob) findings.warn(place, 'matches no file');
    if (matches.length === 0 && !isGlob) findings.error(place, `no such file: ${pattern}`, `it is looked for in ${folder}`);
    return isGlob ? matches.filter((match) => statSync(match).isFile()) : matches;
  });
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
