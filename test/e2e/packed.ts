/** The package as npm publishes it, in a user's folder: `npm publish` to a registry of the test, and an installation without one. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(root, 'node_modules');
const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

export interface Project {
  readonly folder: string;
  /** The files of the package. */
  readonly files: readonly string[];
  /** Bytes of the tarball. */
  readonly bytes: number;
  /** The output of `npm publish`. */
  readonly published: string;
  /** The executable of the installed package. */
  readonly main: string;
  write(file: string, text: string): void;
  read(file: string): string;
  remove(): void;
}

/** A registry that keeps the tarball of the package that is published to it. */
async function startRegistry(): Promise<{ host: string; tarball(): Buffer | null; close(): void }> {
  let tarball: Buffer | null = null;
  const keep = async (request: IncomingMessage): Promise<void> => {
    const { _attachments: files } = (await json(request)) as { _attachments: Record<string, { data: string }> };
    tarball = Buffer.from(Object.values(files)[0]?.data ?? '', 'base64');
  };
  const server = createServer((request, response) => {
    const answer = (status: number): void => void response.writeHead(status).end('{}');
    if (request.method !== 'PUT') return answer(404);
    keep(request).then(
      () => answer(201),
      () => answer(500),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, tarball: () => tarball, close: () => server.close() };
}

/**
 * Publishes a copy of this checkout, so that no built file gets into the checkout.
 * cost: `npm pack`, and then `npm publish --dry-run` of its tarball, start npm twice and pack twice
 */
async function publish(folder: string): Promise<{ tarball: Buffer; published: string }> {
  const copy = join(folder, 'checkout');
  const isLeftOut = new Set(['node_modules', '.git', 'dist', 'data'].map((name) => join(root, name)));
  cpSync(root, copy, { recursive: true, filter: (path) => !isLeftOut.has(path) });
  symlinkSync(modules, join(copy, 'node_modules'));
  const registry = await startRegistry();
  // safety: npm knows no other registry, and has a key for this one only
  writeFileSync(join(copy, '.npmrc'), `registry=http://${registry.host}/\n//${registry.host}/:_authToken=none\n`);
  const npm = spawn('npm', ['publish', '--provenance=false', `--registry=http://${registry.host}/`], {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', PATH: `${join(modules, '.bin')}:${process.env['PATH']}` },
  });
  const [stdout, stderr, [status]] = await Promise.all([text(npm.stdout), text(npm.stderr), once(npm, 'close')]);
  registry.close();
  const published = `${stdout}${stderr}\nended with ${status}`;
  const tarball = registry.tarball();
  if (tarball === null) throw new Error(`npm published nothing:\n${published}`);
  return { tarball, published };
}

/** An empty project with the package and its declared dependencies, and no other package. */
export async function createProject(): Promise<Project> {
  const root = mkdtempSync(join(tmpdir(), 'gateway-packed-'));
  const folder = join(root, 'project');
  const home = join(folder, 'node_modules/model-gateway');
  mkdirSync(home, { recursive: true });
  const { tarball, published } = await publish(root);
  execFileSync('tar', ['-xz', '-C', home, '--strip-components=1'], { input: tarball });
  for (const name of Object.keys({ ...facts.dependencies, ...facts.peerDependencies })) link(name, folder);
  const write: Project['write'] = (file, text) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  write('package.json', JSON.stringify({ name: 'somebody-else', private: true, type: 'module' }));
  return {
    folder,
    files: readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1)),
    bytes: tarball.length,
    published,
    main: join(home, 'dist/core/main.js'),
    write,
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function link(name: string, folder: string): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(modules, name), place);
}

export const readFromCheckout = (file: string): string => readFileSync(join(root, file), 'utf8');

/** A TypeScript block of a page: the first one, or another by its number from 0. */
export function exampleOf(page: string, at = 0): string {
  const code = Array.from(readFromCheckout(page).matchAll(/```ts\n(.*?)```/gs), ([, text = '']) => text)[at];
  if (code === undefined) throw new Error(`${page} has no example ${at}`);
  return code;
}

/** The same plugin in JavaScript. */
export const toJavaScript = (source: string): string => stripTypeScriptTypes(source, { mode: 'strip' });

/** Checks files with a user's compiler. Returns its errors. */
export function typeFaults(files: readonly string[], folder: string): string {
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--allowImportingTsExtensions',
    '--erasableSyntaxOnly',
  ];
  try {
    execFileSync(join(modules, '.bin/node'), [join(modules, 'typescript/bin/tsc'), ...flags, ...files], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** Runs the tests of the project. Returns the output of vitest, and whether all passed. */
export function runTests(folder: string): { output: string; passed: boolean } {
  try {
    return {
      output: execFileSync(
        join(modules, '.bin/node'),
        [join(modules, 'vitest/vitest.mjs'), 'run', '--root', folder, '--no-isolate', '--maxWorkers=1'],
        {
          cwd: folder,
          encoding: 'utf8',
          stdio: 'pipe',
          env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' },
        },
      ),
      passed: true,
    };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { output: stdout + stderr, passed: false };
  }
}
