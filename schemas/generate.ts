/**
 * `npm run generate`: writes `gateway.schema.json` for editors, from the root schema and all plugins under `plugins/`.
 * `npm run generate -- catalogue`: brings `config/catalogue/*.yaml` up to date (catalogue/build.ts); `--refresh` fetches pi-ai's figures first.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compose } from './compose.ts';
import type { Documented } from './compose.ts';

const pluginsFolder = new URL('../plugins/', import.meta.url);
/** The address of the generated file. */
export const schemaFile = new URL('gateway.schema.json', import.meta.url);

/** Imports every `<stage>/<name>.ts` and `<stage>/<name>/index.ts` under `plugins/` and returns those whose default export is a plugin. */
export async function shippedPlugins(): Promise<Documented[]> {
  const found: Documented[] = [];
  for (const stage of folders(pluginsFolder)) {
    for (const file of candidates(new URL(`${stage}/`, pluginsFolder))) {
      const module = (await import(file.href)) as { default?: Partial<Documented> };
      const { name, summary, schema } = module.default ?? {};
      if (name !== undefined && summary !== undefined && schema !== undefined) found.push({ name, summary, schema });
    }
  }
  return found;
}

/** The text of `gateway.schema.json` for these plugins. */
export const schemaText = (plugins: readonly Documented[]): string => `${JSON.stringify(compose(plugins), null, 2)}\n`;

const folders = (parent: URL): string[] => readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);

function candidates(stage: URL): URL[] {
  const files = readdirSync(stage).filter((name) => name.endsWith('.ts')).map((name) => new URL(name, stage));
  const inFolders = folders(stage).map((name) => new URL(`${name}/index.ts`, stage)).filter((file) => existsSync(file));
  return [...files, ...inFolders];
}

async function writeSchema(): Promise<void> {
  const plugins = await shippedPlugins();
  writeFileSync(schemaFile, schemaText(plugins));
  console.log(`schemas/gateway.schema.json: ${plugins.length} plugins`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what, ...flags] = process.argv.slice(2);
  if (what === 'catalogue' && flags[0] === '--check') (await import('./catalogue/check.ts')).check(flags.slice(1));
  else if (what === 'catalogue') await (await import('./catalogue/build.ts')).run(flags);
  else await writeSchema();
}
