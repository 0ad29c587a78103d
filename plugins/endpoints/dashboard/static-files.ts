/**
 * The files of the dashboard: its modules, its styles, and the packages that it uses. They are read into memory at the first request.
 * safety: a requested path is only looked up in a map, so no request can name another file.
 */
import { hash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { codingOf, isKnown } from '../../../core/log/compressed.ts';
import type { Coding } from '../../../core/log/compressed.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { pageFields, timeFilters } from '../../../core/log/filters.ts';
import { leanScript, leanStyle } from './lean.ts';

/** One file in memory. */
interface StaticFile {
  /** The content type. */
  readonly type: string;
  readonly bytes: Buffer;
  /** The compressed forms; each is made at the first request for it. */
  readonly coded: Map<Coding, Buffer>;
  /** The first 22 characters of the content's hash, without quotes. */
  readonly etag: string;
}

/** All files of the dashboard. */
export interface StaticFiles {
  /** The files, by the path that follows the version in the address, for example `parts/menu.js`. */
  readonly files: ReadonlyMap<string, StaticFile>;
  /** A hash of all files. It is part of their address, so that a browser may keep them for ever. */
  readonly version: string;
  /** The HTML of a page; `name` is the name of a file in `pages/`. */
  page(this: void, name: string): string;
  /** The hash of the import map, for the content security policy. */
  readonly scriptHash: string;
}

/** The files of the packages, by the name that modules import. */
const vendored: ReadonlyMap<string, string> = new Map([
  ['preact', 'vendor/preact.js'],
  ['preact/hooks', 'vendor/hooks.js'],
  ['htm', 'vendor/htm.js'],
  // loaded only where somebody reads Markdown
  ['marked', 'vendor/marked.js'],
]);

const types: Readonly<Record<string, string>> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };

/** The folder with the sources: this folder, or in a built package the folder beside `dist`. */
function folder(): URL {
  const here = new URL('./', import.meta.url);
  return existsSync(new URL('pages/', here)) ? here : new URL('../../../../plugins/endpoints/dashboard/', here);
}

/** Reads all files. Throws where a file or a package is missing. */
export function readStaticFiles(): StaticFiles {
  const root = folder();
  const files = new Map<string, StaticFile>();
  const found = (patterns: string[]): string[] =>
    globSync(patterns, { cwd: fileURLToPath(root) })
      .map((path) => path.replaceAll('\\', '/'))
      .sort();
  const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');
  const add = (path: string, text: string): void => void files.set(path, fileOf(path, Buffer.from(text)));
  for (const path of found(['app.js', 'early.js', '{pages,parts}/*.js'])) add(path, leanScript(textOf(path)));
  // a browser cannot import from the core, so it gets the table of fields as a file
  const [fields, times] = [pageFields, timeFilters].map((table) => JSON.stringify(table));
  add('parts/fields.js', `export const fields = ${fields};\nexport const timeFilters = ${times};\n`);
  // cost: one file compresses better than four; the pages load the other styles when they need them
  add('styles.css', leanStyle(found(['styles/[1-4]-*.css']).map(textOf).join('')));
  for (const path of found(['styles/[a-z]*.css'])) add(path, leanStyle(textOf(path)));
  for (const [specifier, file] of vendored) {
    const text = readFileSync(fileURLToPath(import.meta.resolve(specifier)), 'utf8').replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '');
    add(file, text);
  }
  const version = hash('sha256', [...files.values()].map(({ etag }) => etag).join(), 'base64url').slice(0, 12);
  const at = (path: string): string => `/dashboard/assets/${version}/${path}`;
  const imports = Object.fromEntries(Array.from(vendored, ([specifier, file]) => [specifier, at(file)]));
  const map = JSON.stringify({ imports });
  const template = textOf('index.html');
  const page = (name: string): string => {
    const preloads = [...modulesOf(files, ['app.js', `pages/${name}.js`])].map((path) => `<link rel="modulepreload" href="${at(path)}">`);
    const parts: Readonly<Record<string, string>> = { importmap: map, preloads: preloads.join(''), assets: at('') };
    return template.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] ?? '');
  };
  return { files, version, page, scriptHash: `sha256-${hash('sha256', map, 'base64')}` };
}

/**
 * The modules that these files import, directly or not. The page names them
 * all, so that a browser fetches them at once and not one after the other.
 */
function modulesOf(files: StaticFiles['files'], paths: readonly string[], known = new Set<string>()): Set<string> {
  for (const path of paths) {
    const file = files.get(path);
    if (file === undefined || known.has(path)) continue;
    known.add(path);
    for (const [, specifier = ''] of file.bytes.toString().matchAll(/^(?:import|export) [^;]*?from '([^']+)';$/gm)) {
      modulesOf(files, [vendored.get(specifier) ?? new URL(specifier, `file:///${path}`).pathname.slice(1)], known);
    }
  }
  return known;
}

function fileOf(path: string, bytes: Buffer): StaticFile {
  return {
    type: types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    bytes,
    coded: new Map(),
    etag: hash('sha256', bytes, 'base64url').slice(0, 22),
  };
}

/** The answer with a file in the best coding that the browser takes, or 304 where the browser has the file already. */
export function serveFile(file: StaticFile, headers: Readonly<Record<string, string | undefined>>): Answer {
  const coding = codingOf(headers['accept-encoding']);
  const etag = `"${file.etag}${coding === 'identity' ? '' : `-${coding}`}"`;
  const common = { etag, 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' };
  if (isKnown(etag, headers['if-none-match'])) return { status: 304, headers: common, body: '' };
  return {
    headers: { ...common, 'content-type': file.type, ...(coding !== 'identity' && { 'content-encoding': coding }) },
    body: encoded(file, coding),
  };
}

// cost: all requests wait while a file is compressed. Quality 9 takes ten
// times as long as 5 (300 ms for all files) and saves one byte in a thousand
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** The bytes of a file in a coding. */
export function encoded(file: StaticFile, coding: Coding): Buffer {
  const known = file.coded.get(coding);
  if (known !== undefined) return known;
  const { bytes } = file;
  const made = coding === 'br' ? brotliCompressSync(bytes, brotli) : coding === 'gzip' ? gzipSync(bytes, { level: 9 }) : bytes;
  file.coded.set(coding, made);
  return made;
}
