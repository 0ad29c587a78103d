/** The list of providers: every dialect has its section, and every block of YAML in it loads. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Loaded } from '../../config/load.ts';
import { loadConfig } from '../../config/load.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { Provider } from '../../core/config.ts';
import { loadPlugin } from '../_kit/gateway.ts';

const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
const sections = page
  .split(/^### /m)
  .slice(1)
  .map((text) => ({ name: text.slice(0, text.indexOf('\n')), text: text.split(/^## /m)[0] ?? '' }));
const blocks = sections.flatMap(({ name, text }) => [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => ({ name, yaml })));

const folder = mkdtempSync(join(tmpdir(), 'gateway-providers-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function load(yaml: string, env: Record<string, string>): Promise<Loaded> {
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, `providers:\n${yaml.replaceAll(/^/gm, '  ')}\nplugins: [${shippedPlugins.join(', ')}]\n`);
  return await loadConfig(file, { env, loadPlugin: (name) => loadPlugin(name, folder), shippedPlugins });
}

/** Each variable of a block, with a value that fits at its place. */
const variablesIn = (yaml: string): Record<string, string> =>
  Object.fromEntries(
    [...yaml.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => [name, /URL|HOST/.test(name) ? 'https://one.example.com' : 'some-value']),
  );

async function providerOf(yaml: string, env: Record<string, string>): Promise<Provider | undefined> {
  const loaded = await load(yaml, env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  expect(loaded.warnings).toEqual([]);
  return [...loaded.config.providers.values()][0];
}

describe('docs/providers.md', () => {
  it('has a section for every dialect, and for nothing else', async () => {
    const plugins = await Promise.all(shippedPlugins.map((name) => loadPlugin(name, folder)));
    const names = plugins.flatMap(({ dialects = [], serves = [] }) => [...dialects.map(({ name }) => name), ...serves]);
    expect(sections.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(new Set(blocks.map(({ name }) => name)).size).toBe(sections.length);
  });

  it.each(blocks)('has a block that loads: $yaml', async ({ name, yaml }) => {
    const provider = await providerOf(yaml, variablesIn(yaml));
    expect(provider).toMatchObject({ id: name, dialect: name, missing: null });
  });

  it.each(blocks.filter(({ yaml }) => /\$\{\w+\}/.test(yaml)))(
    'has a provider that is off without its variable: $yaml',
    async ({ yaml }) => {
      expect((await providerOf(yaml, {}))?.missing).toMatch(/^[A-Z_]+$/);
    },
  );

  it('has the settings of the shipped file', async () => {
    const shipped = parse(readFileSync(new URL('../../gateway.config.yaml', import.meta.url), 'utf8')) as {
      providers: Record<string, Record<string, unknown>>;
    };
    const documented = new Map(blocks.toReversed().map(({ name, yaml }) => [name, (parse(yaml) as Record<string, unknown>)[name]]));
    for (const [id, { trains_on_data: _, ...settings }] of Object.entries(shipped.providers)) {
      expect(documented.get(id), id).toEqual(settings);
    }
  });
});
