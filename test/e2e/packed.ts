/** The package as npm publishes it, in a user's folder: `npm pack`, and an installation without a registry. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
  /** The output of `npm publish --dry-run`. */
  readonly published: string;
  /** The executable of the installed package. */
  readonly main: string;
  write(file: string, text: string): void;
  read(file: string): string;
  remove(): void;
}

/** Packs a copy of this checkout, so that no built file gets into the checkout. */
function pack(folder: string): string {
  const copy = join(folder, 'checkout');
  const isLeftOut = new Set(['node_modules', '.git', 'dist', 'data'].map((name) => join(root, name)));
  cpSync(root, copy, { recursive: true, filter: (path) => !isLeftOut.has(path) });
  symlinkSync(modules, join(copy, 'node_modules'));
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--pack-destination', folder], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(modules, '.bin')}:${process.env['PATH']}` },
  });
  if (status !== 0) throw new Error(`npm pack failed:\n${stdout}${stderr}`);
  return join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) as string);
}

/** An empty project with the package and its declared dependencies, and no other package. */
export function createProject(): Project {
  const root = mkdtempSync(join(tmpdir(), 'gateway-packed-'));
  const folder = join(root, 'project');
  const home = join(folder, 'node_modules/model-gateway');
  mkdirSync(home, { recursive: true });
  const tarball = pack(root);
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1']);
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
    bytes: statSync(tarball).size,
    published: publication(tarball),
    main: join(home, 'dist/core/main.js'),
    write,
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function publication(tarball: string): string {
  const { stdout, stderr, status } = spawnSync('npm', ['publish', '--dry-run', '--provenance=false', tarball], {
    cwd: dirname(tarball),
    encoding: 'utf8',
  });
  return `${stdout}${stderr}\nended with ${status}`;
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
      output: execFileSync(join(modules, '.bin/node'), [join(modules, 'vitest/vitest.mjs'), 'run', '--root', folder], {
        cwd: folder,
        encoding: 'utf8',
        stdio: 'pipe',
        env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' },
      }),
      passed: true,
    };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { output: stdout + stderr, passed: false };
  }
}
