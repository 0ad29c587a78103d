/**
 * The files of the page: our own modules and styles, and the installed packages, read into memory at the first request.
 * safety: a path is looked up whole in this map; no part of a request ever becomes part of a file name.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { pageFields, timeFilters } from '../../../core/log/fields.ts';
import { leanScript, leanStyle } from './lean.ts';

export interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** By content coding; filled as it is asked for. */
  readonly coded: Map<Coding, Buffer>;
  readonly etag: string;
}

export type Coding = 'br' | 'gzip' | 'identity';

export interface StaticFiles {
  /** By path below the version: `parts/table.js`. */
  readonly files: ReadonlyMap<string, StaticFile>;
  /** Of all of them: part of their address, so that a browser may keep them for ever. */
  readonly version: string;
  /** The page that shows one of `pages/`, by its name. */
  page(this: void, name: string): string;
  /** The import map's, for the content security policy. */
  readonly scriptHash: string;
}

interface Vendored {
  readonly specifier: string;
  readonly file: string;
}

const vendored: readonly Vendored[] = [
  { specifier: 'preact', file: 'vendor/preact.js' },
  { specifier: 'preact/hooks', file: 'vendor/hooks.js' },
  { specifier: 'htm', file: 'vendor/htm.js' },
];

const types: Readonly<Record<string, string>> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };

/** Sources run in place; a built package holds them beside its `dist`. */
function folder(): URL {
  const here = new URL('./', import.meta.url);
  return existsSync(new URL('pages/', here)) ? here : new URL('../../../../plugins/endpoints/dashboard/', here);
}

export function readStaticFiles(): StaticFiles {
  const root = folder();
  const files = new Map<string, StaticFile>();
  const found = (patterns: string[]): string[] => globSync(patterns, { cwd: fileURLToPath(root) }).map((path) => path.replaceAll('\\', '/')).sort();
  const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');
  for (const path of found(['app.js', 'early.js', '{pages,parts}/*.js'])) files.set(path, fileOf(path, Buffer.from(leanScript(textOf(path)))));
  // a browser cannot import from the core, so it gets the table itself
  files.set('parts/fields.js', fileOf('parts/fields.js', Buffer.from(`export const fields = ${JSON.stringify(pageFields)};\nexport const timeFilters = ${JSON.stringify(timeFilters)};\n`)));
  // cost: one file compresses better than four; the other styles are loaded by the pages that need them
  files.set('styles.css', fileOf('styles.css', Buffer.from(leanStyle(found(['styles/[1-4]-*.css']).map(textOf).join('')))));
  for (const path of found(['styles/[a-z]*.css'])) files.set(path, fileOf(path, Buffer.from(leanStyle(textOf(path)))));
  for (const { specifier, file } of vendored) {
    const text = readFileSync(fileURLToPath(import.meta.resolve(specifier)), 'utf8').replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '');
    files.set(file, fileOf(file, Buffer.from(text)));
  }
  const version = digest([...files.values()].map(({ etag }) => etag).join(), 'base64url').slice(0, 12);
  const at = (path: string): string => `/dashboard/assets/${version}/${path}`;
  const imports = Object.fromEntries(vendored.map(({ specifier, file }) => [specifier, at(file)]));
  const map = JSON.stringify({ imports });
  const template = textOf('index.html');
  const page = (name: string): string => {
    const preloads = [...modulesOf(files, ['app.js', `pages/${name}.js`])].map((path) => `<link rel="modulepreload" href="${at(path)}">`);
    const parts: Readonly<Record<string, string>> = { importmap: map, preloads: preloads.join(''), assets: at('') };
    return template.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] ?? '');
  };
  return { files, version, page, scriptHash: `sha256-${digest(map, 'base64')}` };
}

/** What these import, and what that imports: fetched at once, instead of one after the other as the imports are met. */
function modulesOf(files: StaticFiles['files'], paths: readonly string[], known = new Set<string>()): Set<string> {
  for (const path of paths) {
    const file = files.get(path);
    if (file === undefined || known.has(path)) continue;
    known.add(path);
    const imported = Array.from(file.bytes.toString().matchAll(/^(?:import|export) [^;]*?from '([^']+)';$/gm), ([, specifier = '']) => specifier);
    modulesOf(files, imported.map((specifier) => vendored.find((one) => one.specifier === specifier)?.file ?? new URL(specifier, `file:///${path}`).pathname.slice(1)), known);
  }
  return known;
}

const digest = (text: string | Buffer, encoding: 'base64' | 'base64url'): string => createHash('sha256').update(text).digest(encoding);

function fileOf(path: string, bytes: Buffer): StaticFile {
  return { type: types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream', bytes, coded: new Map(), etag: digest(bytes, 'base64url').slice(0, 22) };
}

/** The file in the best coding that the browser takes, or 304 where it has it. */
export function serveFile(file: StaticFile, headers: Readonly<Record<string, string | undefined>>): Answer {
  const coding = codingOf(headers['accept-encoding'] ?? '');
  const etag = `"${file.etag}${coding === 'identity' ? '' : `-${coding}`}"`;
  const common = { etag, 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' };
  if (headers['if-none-match']?.split(/\s*,\s*/).includes(etag) === true) return { status: 304, headers: common, body: '' };
  return { headers: { ...common, 'content-type': file.type, ...(coding !== 'identity' && { 'content-encoding': coding }) }, body: encoded(file, coding) };
}

export function encoded(file: StaticFile, coding: Coding): Buffer {
  const known = file.coded.get(coding);
  if (known !== undefined) return known;
  const { bytes } = file;
  const made = coding === 'br' ? brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }) : coding === 'gzip' ? gzipSync(bytes, { level: 9 }) : bytes;
  file.coded.set(coding, made);
  return made;
}

function codingOf(accepted: string): Coding {
  const codings = accepted.split(',').map((part) => part.trim()).filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part)).map((part) => part.split(';')[0]);
  return codings.includes('br') ? 'br' : codings.includes('gzip') ? 'gzip' : 'identity';
}
