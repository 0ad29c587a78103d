/** The rules of this repository that a machine can check. The linter checks the size of functions and the number of parameters. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { shippedPlugins } from '../config/shipped-plugins.ts';
import { errorTable } from '../core/errors.ts';
import { createHooks } from '../core/pipeline/hooks.ts';
import { shippedNames } from '../core/host/loader.ts';
import { loadPlugin } from './_kit/gateway.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const sources = globSync('{core,config,schemas,plugins}/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
const names = shippedNames(join(root, 'plugins'));

/** The files of this repository that a file imports, as paths from the root. */
function importsOf(file: string): string[] {
  const found = read(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return Array.from(found, ([, path = '']) =>
    relative(root, join(root, dirname(file), path))
      .split(sep)
      .join('/'),
  );
}

const pluginOf = (file: string): string | undefined =>
  names.find((name) => file === `plugins/${name}.ts` || file.startsWith(`plugins/${name}/`));

/** Whether this file may import that one. */
function isAllowed(file: string, imported: string): boolean {
  const [from, to] = [file.split('/')[0], imported.split('/')[0]];
  if (file === 'schemas/generate.ts') return true;
  // the composition root reads the config; it finds plugins by their names in the config, and names none of them
  if (file === 'core/cli/program.ts') return to === 'core' || to === 'config';
  if (from === 'core' || from === 'schemas') return to === from;
  if (from === 'config') return ['config', 'core', 'schemas'].includes(to ?? '');
  if (to === 'core') return true;
  if (to !== 'plugins') return false;
  // files of its own folder, and the folder that dialects share for families of models
  return pluginOf(imported) === pluginOf(file) || imported.startsWith('plugins/dialects/families/');
}

/** The executable and the public API: they may import all folders, and no folder imports them. */
const doors = new Set(['core/main.ts', 'core/index.ts']);

/** The folders of the core: each one imports only those before it. '' is `core/` itself, which all folders share. */
const rooms = ['', 'workers', 'wire', 'taps', 'pipeline', 'log', 'http', 'host', 'run', 'cli'];

/** Files that import each other in a circle, one line for each circle. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '));
    if (done.has(file) || way.includes(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

describe('the house', () => {
  test('keeps the import law', () => {
    const broken = sources.flatMap((file) =>
      importsOf(file)
        .filter((imported) => !isAllowed(file, imported))
        .map((imported) => `${file} → ${imported}`),
    );
    expect(broken).toEqual([]);
  });

  test('names no plugin in the composition root', () => {
    const broken = sources
      .filter((file) => /^core\/(?:cli\/|main\.ts$)/.test(file))
      .flatMap((file) => names.filter((name) => read(file).includes(name)).map((name) => `${file} names ${name}`));
    expect(broken).toEqual([]);
  });

  test('has no circle of imports, not even of types', () => {
    expect(circlesOf(new Map(sources.map((file) => [file, importsOf(file)])))).toEqual([]);
  });

  test('lets each folder of the core import only the folders before it in the list', () => {
    const height = (file: string): number => rooms.indexOf(file.split('/').length === 2 ? '' : (file.split('/')[1] ?? ''));
    const upward = sources
      .filter((file) => file.startsWith('core/') && !doors.has(file))
      .flatMap((file) =>
        importsOf(file)
          .filter((to) => to.startsWith('core/') && height(to) > height(file))
          .map((to) => `${file} → ${to}`),
      );
    expect(upward).toEqual([]);
    expect(new Set(sources.filter((file) => file.startsWith('core/')).map(height))).not.toContain(-1);
  });

  test('keeps the listing of each folder short', () => {
    const byFolder = Map.groupBy(sources, (file) => dirname(file));
    expect([...byFolder].filter(([, files]) => files.length > 16).map(([folder, files]) => `${folder}: ${files.length} files`)).toEqual([]);
  });

  test('calls each plugin by its path', async () => {
    for (const name of names) expect((await loadPlugin(name, root)).name).toBe(name);
  });

  test('ships exactly the plugins that exist, in the config file and in the default list', () => {
    const listed = (parse(read('gateway.config.yaml')) as { plugins: (string | { use: string })[] }).plugins.map((entry) =>
      typeof entry === 'string' ? entry : entry.use,
    );
    expect(listed).toEqual([...shippedPlugins]);
    expect(shippedPlugins.toSorted()).toEqual(names);
  });

  test('lists every plugin, hook and error code in the docs, and nothing else', () => {
    const cells = (text: string): string[] => Array.from(text.matchAll(/^\| `([^`]+)` \|/gm), ([, cell = '']) => cell);
    const documented = cells(read('plugins/README.md'));
    expect(documented.filter((cell) => cell.includes('/')).sort()).toEqual(names);
    expect(documented.filter((cell) => !cell.includes('/')).sort()).toEqual(Object.keys(createHooks()).sort());
    expect(cells(read('core/errors.md')).sort()).toEqual(Object.keys(errorTable).sort());
  });

  test('names no provider in shared code', () => {
    const vendors =
      /\b(?:openai(?!'|\.|-chat|Words)|anthropic(?!-version'|-beta')|claude|gemini|bedrock|deepseek|mistral|groq|xai|together|fireworks|openrouter|cerebras|perplexity|moonshot|alibaba|ollama|vllm|vertex|cohere|minimax|huggingface|nvidia|sambanova|databricks|cloudflare|nebius|deepinfra|baseten|novita|hyperbolic|lmstudio|llamacpp)\b/i;
    // the import of configs needs the names that other gateways give to vendors
    const shared = sources.filter(
      (file) => !file.startsWith('plugins/dialects/') && !file.startsWith('config/import/') && file !== 'config/shipped-plugins.ts',
    );
    const broken = shared.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at, lines) => (vendors.test(line) && !isProse(line, lines[at - 1]) ? [`${file}:${at + 1} ${line.trim()}`] : [])),
    );
    expect(broken).toEqual([]);
  });

  test('uses no any, and leaves no TODO', () => {
    const broken = sources.filter(
      (file) =>
        /(?::|as|<)\s*any\b|\b(?:TODO|FIXME|XXX)\b|@ts-ignore/.test(withoutComments(read(file))) || /\b(?:TODO|FIXME)\b/.test(read(file)),
    );
    expect(broken).toEqual([]);
  });

  test('keeps files small and folders flat', () => {
    const limit = (file: string): number => (/(?:encode|decode)\.ts$/.test(file) ? 450 : 400);
    expect(sources.filter((file) => read(file).split('\n').length > limit(file) + 1)).toEqual([]);
    expect(sources.filter((file) => file.split('/').length > (file.startsWith('plugins/') ? 5 : 4))).toEqual([]);
    expect(sources.filter((file) => /(?:utils|helpers|common|types)\.ts$/.test(file))).toEqual([]);
  });

  // a worker loads a shared module once, so its hooks run for the first file that imports it, and for no other
  test('puts no hook of a test into a module that test files share', () => {
    const shared = globSync('test/**/*.ts', { cwd: root }).filter(
      (file) => !file.endsWith('.test.ts') && file !== join('test', '_kit', 'properties.ts'),
    );
    expect(shared.filter((file) => /^(?:before|after)(?:Each|All)\(/m.test(read(file)))).toEqual([]);
  });

  test('keeps the README short', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(200);
  });
});

/** Descriptions and comments may give an example; a decision may not. The formatter puts a long description on a line of its own. */
const isProse = (line: string, before = ''): boolean => /^\s*(?:\/\/|\*|\/\*)|description:/.test(line) || before.endsWith('description:');

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
