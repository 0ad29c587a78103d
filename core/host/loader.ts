/** Finds plugins: the shipped ones by their path under `plugins/`, others by the path of a file or by the name of an npm package. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { lastImported, resolvePackage, serveOwnName } from './own-package.ts';
import type { Places } from './places.ts';
import type { AnyPlugin, FieldSpec } from './plugin.ts';
import { within } from '../cancellation.ts';
import { mistakeAt } from '../exit.ts';
import { plainName } from '../log/filters.ts';
import { didYouMean } from '../names.ts';
import { fieldsOf, isFields } from '../wire/fields.ts';

/** Where a plugin is. `isShipped`: its name is its path. */
interface Found {
  readonly file: string;
  readonly isShipped: boolean;
}

const unfinished = Symbol('unfinished');

/**
 * `root`: the `plugins/` folder. The sources are `.ts`, a built package holds `.js`.
 * @param places gets the file of each plugin that does not ship
 * @param patienceMs safety: Node waits without a limit for the top-level await of a file. Where
 * nothing else is open, Node ends with exit code 13 and names the gateway, not the plugin
 */
export function createPluginLoader(root: URL, places?: Places, patienceMs = 30_000) {
  const folder = fileURLToPath(root);
  /** How often each file could not be loaded, or was no plugin. */
  const failures = new Map<string, number>();
  return async (use: string, baseDir: string): Promise<AnyPlugin> => {
    const { file, isShipped } = find(folder, use, baseDir);
    if (!isShipped) serveOwnName();
    const { href } = pathToFileURL(file);
    const failed = failures.get(href) ?? 0;
    // Node keeps the result of each import by its address, errors included. A failed file gets a new query, so that Node reads it again
    const module = await within(import(failed === 0 ? href : `${href}?${failed}`) as Promise<object>, patienceMs, unfinished).catch(
      async (cause: unknown) => {
        failures.set(href, failed + 1);
        const place = cause instanceof SyntaxError ? await placeOf(cause, lastImported() ?? file) : '';
        throw new Error(`cannot be loaded: ${place}${reasonOf(cause)}${place === '' ? mistakeAt(cause) : ''}`, { cause });
      },
    );
    if (module === unfinished) {
      throw new Error(
        `cannot be loaded: its file did not finish loading within ${patienceMs / 1000} s. A top-level \`await\` waits for something; open things in the boot hook`,
      );
    }
    const plugin = (module as { default?: unknown }).default;
    const fault = 'module.exports' in module ? isCommonJs : faultOf(plugin);
    if (fault !== null) {
      failures.set(href, failed + 1);
      throw new Error(`is not a plugin: ${fault}`);
    }
    const found = plugin as AnyPlugin;
    if (isShipped && found.name !== use) throw new Error(`calls itself "${found.name}"; a plugin's name is its path`);
    if (!isShipped) places?.add(href, found.name);
    return found;
  };
}

function find(folder: string, use: string, baseDir: string): Found {
  if (isPath(use)) return { file: existing(resolve(baseDir, use)), isShipped: false };
  const shipped = shippedFile(folder, use);
  if (shipped !== null) return { file: shipped, isShipped: true };
  const file = packageFile(use, baseDir);
  if (file !== null) return { file: existing(file), isShipped: false };
  const near = fileNear(resolve(baseDir, use));
  if (near !== undefined) {
    throw new Error(`there is no plugin "${use}". A file is named by its path: ./${relative(baseDir, near)}`);
  }
  throw new Error(isPackageName(use) ? notInstalled(use, baseDir, folder) : notShipped(use, folder));
}

/** Whether an entry of `plugins` names a file. */
export const isPath = (use: string): boolean => /^\.{0,2}\//.test(use);

function existing(file: string): string {
  if (existsSync(file)) return file;
  const near = fileNear(file);
  throw new Error(`there is no file ${file}${near === undefined ? '' : `. Write the whole name: ${near}`}`);
}

/** The file of this path, or of one that lacks its ending. */
const fileNear = (path: string): string | undefined =>
  [path, `${path}.ts`, `${path}.js`, `${path}.mjs`].find((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);

function shippedFile(folder: string, use: string): string | null {
  for (const file of [`${use}.ts`, `${use}/index.ts`, `${use}.js`, `${use}/index.js`]) {
    const path = resolve(folder, file);
    if (path.startsWith(folder) && existsSync(path)) return path;
  }
  return null;
}

function packageFile(use: string, baseDir: string): string | null {
  if (isBuiltin(use)) return null;
  try {
    return resolvePackage(use, baseDir);
  } catch (cause) {
    throw new Error(`cannot be loaded: ${reasonOf(cause)}`, { cause });
  }
}

const runs = promisify(execFile);

/**
 * The place of a syntax error: `file:line: `.
 * @param file that was imported last: the fault is in this file, unless Node names its place
 */
async function placeOf({ stack }: SyntaxError, file: string): Promise<string> {
  // Node puts the place of a TypeScript fault, or of an import of a name that is not
  // exported, first in the stack; for a JavaScript fault only `node --check` prints the place
  const said = firstLine.test(stack ?? '')
    ? stack
    : await runs(process.execPath, ['--check', file]).then(
        () => '',
        ({ stderr }: { stderr?: string }) => stderr,
      );
  const [, path, line] = firstLine.exec(said ?? '') ?? [];
  return path === undefined ? '' : `${path}:${line}: `;
}

const firstLine = /^(?:file:\/\/)?(\/.*):(\d+)\n/;

const isCommonJs =
  'it is CommonJS. Write `export default` in place of `module.exports`, and `import` in place of `require`; let the name of the file end with .mjs, or write "type": "module" into the package.json of its folder';

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node would advise to let the name end with .cjs, which is no plugin either
  if (cause.message.includes('is not defined in ES module scope')) return `${cause.message.split(/\n|, you can/)[0]}: ${isCommonJs}`;
  if (cause.message.includes('outside a module')) {
    return `${cause.message}. Write "type": "module" into the package.json of its folder, or let the name of the file end with .mjs`;
  }
  if ((cause as NodeJS.ErrnoException).code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') {
    return 'Node runs no TypeScript below node_modules. The package must be published as JavaScript';
  }
  return cause.message + absentHint(cause.message);
}

/** What to do about an import that leads nowhere; empty where the cause is another one. */
function absentHint(message: string): string {
  const [, own] = /^The requested module 'model-gateway' does not provide an export named '(\w+)'/.exec(message) ?? [];
  if (own !== undefined) return `. If it is a type, write: import type { ${own} } from 'model-gateway'`;
  const [, name] = /^Cannot find package '((?:@[^/']+\/)?[^./'@][^/']*)/.exec(message) ?? [];
  if (name !== undefined) return `. Install it in the folder of that file: npm install ${name}`;
  const [, path = ''] = /^(?:Cannot find module|Directory import) '(\/[^']+)'/.exec(message) ?? [];
  const meant = [`${path}.ts`, `${path}.js`, `${path}/index.ts`, path.replace(/\.([cm]?)js$/, '.$1ts')].find(
    (file) => path !== '' && file !== path && existsSync(file),
  );
  return meant === undefined ? '' : `. An import names the whole file: ${meant}`;
}

/** `@scope/name`, or one word. `word/word` is more likely a shipped plugin that is misspelt. */
const isPackageName = (use: string): boolean => use.startsWith('@') || !use.includes('/');

function notInstalled(use: string, baseDir: string, folder: string): string {
  // safety: an operator who forgot the folder of a shipped plugin must not be told to install a stranger's package of that name
  const shipped = shippedNames(folder).filter((name) => name.endsWith(`/${use}`));
  if (shipped.length > 0) {
    return `there is no plugin "${use}". Did you mean ${shipped.map((name) => `"${name}"`).join(' or ')}? A plugin that ships is named with its folder`;
  }
  return `there is no npm package "${use}" for ${baseDir}. Install it there: npm install ${use}. A plugin in a file of your own is named by its path, ./${use.replace(/^.*\//, '')}.ts for instance`;
}

const notShipped = (use: string, folder: string): string =>
  `there is no plugin "${use}".${didYouMean(use, shippedNames(folder))} A plugin of your own is named by its path, ./${use}.ts for instance`;

/** Names of all plugins that come with the gateway. */
export function shippedNames(folder: string): string[] {
  const files = globSync(['*/*.{ts,js}', '*/*/index.{ts,js}'], { cwd: folder });
  return files.map((file) => file.replace(/(\/index)?\.[tj]s$/, '').replaceAll('\\', '/')).sort();
}

/** Parts of a plugin that are lists where it has them. */
const lists = ['after', 'dialects', 'errors', 'commands', 'serves'] as const;

function faultOf(plugin: unknown): string | null {
  if (typeof plugin !== 'object' || plugin === null) return 'its file must default-export one object';
  const { name, summary, schema, apply, ...more } = plugin as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[\w-]+\/[\w-]+$/.test(name)) return '`name` must be "folder/name"';
  if (typeof summary !== 'string') return '`summary` must be one line of text';
  if (schema !== undefined && (typeof schema !== 'object' || schema === null)) return '`schema` must be a JSON Schema of its options';
  if (typeof apply !== 'function') return '`apply` must be a function';
  const noList = lists.find((part) => more[part] !== undefined && !Array.isArray(more[part]));
  if (noList !== undefined) return `\`${noList}\` must be a list`;
  const fields = faultOfFields(more['fields'] ?? {});
  if (fields !== null) return fields;
  const errors = (more['errors'] ?? []) as readonly unknown[];
  const odd = errors.findIndex((kind) => typeof fieldsOf(kind)['code'] !== 'string');
  if (odd >= 0) return `\`errors[${odd}]\` must be made by defineError({ code, status })`;
  const dialects = (more['dialects'] ?? []) as readonly unknown[];
  return dialects.map(faultOfDialect).find((fault) => fault !== null) ?? null;
}

const kindsOfFields: readonly unknown[] = ['text', 'number', 'flag'] satisfies FieldSpec['kind'][];

function faultOfFields(fields: unknown): string | null {
  if (!isFields(fields)) return '`fields` must be an object with a field for each name';
  for (const [name, field] of Object.entries(fields)) {
    if (!plainName.test(name)) {
      return `its field "${name}" must be named with letters, digits, and the signs . _ -, because the log filters by that name`;
    }
    if (!kindsOfFields.includes(fieldsOf(field)['kind'])) return `its field "${name}" needs \`kind\`: text, number or flag`;
  }
  return null;
}

/** Functions of a dialect: those that each one has, and others. */
const required = ['encode', 'decoder', 'decodeBody', 'decodeError'] as const;
const optional = ['fetchesImage', 'authorise', 'sign', 'frames', 'takesBudget', 'embedder'] as const;

function faultOfDialect(dialect: unknown, at: number): string | null {
  // an object of a class has its functions in its prototype
  const more = (dialect ?? {}) as Record<string, unknown>;
  const { name, baseUrl } = more;
  if (typeof name !== 'string' || name === '') return `\`dialects[${at}]\` must be an object with a \`name\``;
  if (baseUrl !== null && typeof baseUrl !== 'string' && typeof baseUrl !== 'function') {
    return `the dialect "${name}" needs \`baseUrl\`: an address, a function that gives it, or null`;
  }
  const missing = required.filter((part) => typeof more[part] !== 'function').map((part) => `\`${part}\``);
  if (missing.length > 0) return `the dialect "${name}" needs the function${missing.length > 1 ? 's' : ''} ${missing.join(' and ')}`;
  const other = optional.find((part) => more[part] !== undefined && typeof more[part] !== 'function');
  return other === undefined ? null : `the dialect "${name}" has \`${other}\`, which must be a function`;
}
