/**
 * `npm run generate` writes
 * - `gateway.schema.json` for editors and `docs/configuration.md` for people, from the root schema and all plugins under `plugins/`
 * - the validators of the root schema and of the options of plugins (`config/validate/compiled.js`)
 * - the config of containers, from the shipped one (containers.ts)
 * - the values of the catalogue (`config/catalogue/values.jsonl`), from its YAML
 * - the schemas of what endpoints take and answer (`plugins/endpoints/openapi/types.json`), from the types that the endpoints name
 *
 * `npm run generate -- catalogue`: brings `config/catalogue/*.yaml` and their values
 * up to date (catalogue/build.ts); `--refresh` fetches pi-ai's figures first.
 */
import { existsSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { loadConfig } from '../config/load.ts';
import { shippedPlugins as shippedNames } from '../config/shipped-plugins.ts';
import { knownDialects } from '../config/resolve/providers.ts';
import { editorKeywords, hashOf, meaning } from '../config/validate/validator.ts';
import { startGateway } from '../core/host/gateway.ts';
import { createPluginLoader } from '../core/host/loader.ts';
import { noOptions } from '../core/host/plugin.ts';
import type { AnyPlugin } from '../core/host/plugin.ts';
import type { Route } from '../core/http/routes.ts';
import { readQuickYaml } from '../config/yaml/quick.ts';
import { hashOfText, valuesFile } from '../config/yaml/shipped.ts';
import { catalogueFiles } from './catalogue/build.ts';
import { compose } from './compose.ts';
import type { Documented } from './compose.ts';
import { containersText } from './containers.ts';
import { schemaWith } from './gateway.ts';
import { referenceText } from './reference.ts';

const root = new URL('../', import.meta.url);
const pluginsFolder = new URL('plugins/', root);
/** The address of the generated schema for editors. */
export const schemaFile = new URL('gateway.schema.json', import.meta.url);
/** The address of the generated schemas of what endpoints take and answer. */
export const typesFile = new URL('endpoints/openapi/types.json', pluginsFolder);

/** The address of the generated reference of the config. */
export const referenceFile = new URL('docs/configuration.md', root);

/** The address of the compiled validators. */
export const validatorsFile = new URL('config/validate/compiled.js', root);

/** The address of the config of containers. */
const containersFile = new URL('deploy/chart/config/gateway.config.yaml', root);

/** Imports every `<stage>/<name>.ts` and `<stage>/<name>/index.ts` under `plugins/` and returns those whose default export is a plugin. */
export async function shippedPlugins(): Promise<Documented[]> {
  const found: Documented[] = [];
  for (const stage of folders(pluginsFolder)) {
    for (const file of candidates(new URL(`${stage}/`, pluginsFolder))) {
      const module = (await import(file.href)) as { default?: Partial<Documented> };
      const { name, summary, schema = noOptions } = module.default ?? {};
      if (name !== undefined && summary !== undefined) found.push({ name, summary, schema });
    }
  }
  return found;
}

/** The text of `gateway.schema.json` for these plugins. */
export const schemaText = (plugins: readonly Documented[]): string => `${JSON.stringify(compose(plugins), null, 2)}\n`;

const folders = (parent: URL): string[] =>
  readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

function candidates(stage: URL): URL[] {
  const files = readdirSync(stage)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => new URL(name, stage));
  const inFolders = folders(stage)
    .map((name) => new URL(`${name}/index.ts`, stage))
    .filter((file) => existsSync(file));
  return [...files, ...inFolders];
}

/** The endpoints of all shipped plugins: a gateway with the shipped config, which serves nothing. */
async function shippedRoutes(): Promise<readonly Route[]> {
  const home = mkdtempSync(join(tmpdir(), 'gateway-generate-'));
  const loadPlugin = createPluginLoader(pluginsFolder);
  const loaded = await loadConfig(fileURLToPath(new URL('gateway.config.yaml', root)), {
    env: {},
    home,
    loadPlugin,
    shippedPlugins: shippedNames,
  });
  if (!loaded.ok) throw new Error('gateway.config.yaml has faults: npm run gateway -- check');
  let routes: readonly Route[] = [];
  const probe: AnyPlugin = {
    name: 'schemas/probe',
    summary: 'sees the endpoints',
    apply: (gateway) => void (routes = gateway.routes.all()),
  };
  const gateway = await startGateway({
    config: loaded.config,
    plugins: [...loaded.plugins, { plugin: probe, options: {} }],
    write: () => {},
  });
  await gateway.close();
  rmSync(home, { recursive: true });
  return routes;
}

/** The text of `types.json`: the schemas of all types that endpoints name, and of those that these refer to, for OpenAPI 3.1. */
export async function typesText(): Promise<string> {
  const { createGenerator } = await import('ts-json-schema-generator');
  const names = new Set(
    (await shippedRoutes())
      .flatMap(({ about }) => [about?.body, about?.error, ...Object.values(about?.answer ?? {})].flat())
      .filter((shape) => typeof shape === 'string'),
  );
  // the answer of a dry run, at every endpoint that takes requests for a model
  names.add('Explanation');
  const isNamed = new RegExp(`^export (?:interface|type) (?:${[...names].join('|')})\\b`, 'm');
  // cost: the compiler also reads what these files import, and needs no other file
  const files = globSync('{core,plugins}/**/*.ts', { cwd: fileURLToPath(root) }).filter((file) =>
    isNamed.test(readFileSync(new URL(file, root), 'utf8')),
  );
  const generator = createGenerator({
    path: `${fileURLToPath(root)}{${files.join(',')}}`,
    tsconfig: fileURLToPath(new URL('tsconfig.json', root)),
    skipTypeCheck: true,
    expose: 'export',
    jsDoc: 'extended',
    encodeRefs: false,
  });
  const all = Object.assign(
    {},
    ...[...names].filter((name) => name !== 'ErrorReply').map((name) => generator.createSchema(name).definitions),
  ) as Record<string, unknown>;
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return `${JSON.stringify(modern(sorted), null, 1).replaceAll('"#/definitions/', '"#/components/schemas/')}\n`;
}

/** Turns a schema of draft 7 into one of OpenAPI 3.1, which has `prefixItems` for a list with a schema for each place. */
function modern(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(modern);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, modern(part)]));
  if (!Array.isArray(parts['items'])) return parts;
  const { items, additionalItems = true, ...others } = parts;
  return { ...others, prefixItems: items, items: additionalItems };
}

/** The root schema, and the schemas of the options of all shipped plugins. */
export async function shippedSchemas(): Promise<object[]> {
  const loadPlugin = createPluginLoader(pluginsFolder);
  const plugins = await Promise.all(shippedNames.map((name) => loadPlugin(name, fileURLToPath(root))));
  return [schemaWith(knownDialects(plugins, { isComplete: true }).settings.keys()), ...plugins.map(({ schema = noOptions }) => schema)];
}

const validatorsHead = `// Written by npm run generate. Ajv's code for schemas, by the hash of each.
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
`;

/** The text of `compiled.js`: Ajv's code for these schemas, by the hash of each. */
export function validatorsText(schemas: readonly object[]): string {
  const ajv = new Ajv({ ...meaning, allErrors: true, code: { source: true, esm: true, optimize: 2 }, messages: false });
  ajv.addVocabulary(editorKeywords);
  const byHash = new Map(schemas.map((schema) => [hashOf(schema), schema]));
  for (const [hash, schema] of byHash) ajv.addSchema(schema, hash);
  const code = standaloneCode.default(ajv, Object.fromEntries([...byHash.keys()].toSorted().map((hash) => [`of_${hash}`, hash])));
  const compiled: string[] = [];
  const statements = code
    .replace('"use strict";', '')
    .replaceAll(/export const of_(\w+) = (validate\d+);/g, (_, hash, name) => {
      compiled.push(`'${hash}': ${name}`);
      return '\n';
    })
    .replaceAll(/(?<=[;}])(?=(?:const (?:func|pattern|schema)|function validate)\w*)/g, '\n');
  // cost: the compile cache keeps a function that stands in brackets, and V8 compiles the others at each start: 10 ms
  const functions = statements.replaceAll(/^function (validate\d+)(.*)$/gm, 'const $1 = (function $1$2);');
  // cost: one character beyond Latin-1 doubles the memory of the whole text
  const latin = functions.replaceAll(/[\u0100-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `${validatorsHead}${latin}\nexport const compiled = { ${compiled.join(', ')} };\n`;
}

async function writeAll(): Promise<void> {
  const plugins = await shippedPlugins();
  writeFileSync(validatorsFile, validatorsText(await shippedSchemas()));
  console.log('config/validate/compiled.js');
  writeFileSync(schemaFile, schemaText(plugins));
  console.log(`schemas/gateway.schema.json: ${plugins.length} plugins`);
  writeFileSync(referenceFile, referenceText(plugins));
  console.log('docs/configuration.md');
  writeFileSync(containersFile, containersText(readFileSync(new URL('gateway.config.yaml', root), 'utf8')));
  console.log('deploy/chart/config/gateway.config.yaml');
  writeFileSync(typesFile, await typesText());
  console.log('plugins/endpoints/openapi/types.json');
  writeValues();
}

/** The text of `values.jsonl`: a line for each file of the catalogue, with its hash and its values. */
export const valuesText = (): string =>
  Array.from(catalogueFiles().values(), (text) => `${hashOfText(text)} ${JSON.stringify(readQuickYaml(text))}\n`).join('');

function writeValues(): void {
  writeFileSync(valuesFile, valuesText());
  console.log('config/catalogue/values.jsonl');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what, ...flags] = process.argv.slice(2);
  if (what === 'catalogue' && flags[0] === '--check') (await import('./catalogue/check.ts')).check(flags.slice(1));
  else if (what === 'catalogue') {
    await (await import('./catalogue/build.ts')).run(flags);
    writeValues();
  } else await writeAll();
}
