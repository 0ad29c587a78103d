/** Finds plugins: the shipped ones by their path under `plugins/`, a team's own by the path of their file. */
import { existsSync, globSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { AnyPlugin } from './plugin.ts';
import { didYouMean } from '../suggest.ts';

/** `root`: the `plugins/` folder. The sources are `.ts`, a built package holds `.js`. */
export function createPluginLoader(root: URL) {
  const folder = fileURLToPath(root);
  return async (use: string, baseDir: string): Promise<AnyPlugin> => {
    const isPath = /^\.{0,2}\//.test(use);
    const file = isPath ? resolve(baseDir, use) : shipped(folder, use);
    if (!existsSync(file)) throw new Error(`there is no file ${file}`);
    const module: unknown = await import(pathToFileURL(file).href).catch((cause: unknown) => {
      throw new Error(`cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    });
    const plugin = (module as { default?: unknown }).default;
    const fault = faultOf(plugin);
    if (fault !== null) throw new Error(`is not a plugin: ${fault}`);
    const found = plugin as AnyPlugin;
    if (!isPath && found.name !== use) throw new Error(`calls itself "${found.name}"; a plugin's name is its path`);
    return found;
  };
}

function shipped(folder: string, use: string): string {
  for (const file of [`${use}.ts`, `${use}/index.ts`, `${use}.js`, `${use}/index.js`]) {
    const path = resolve(folder, file);
    if (path.startsWith(folder) && existsSync(path)) return path;
  }
  throw new Error(`there is no plugin "${use}".${didYouMean(use, shippedNames(folder))} A plugin of your own is named by its path, ./${use}.ts for instance`);
}

/** Names of all plugins that come with the gateway. */
export function shippedNames(folder: string): string[] {
  const files = globSync(['*/*.{ts,js}', '*/*/index.{ts,js}'], { cwd: folder });
  return files.map((file) => file.replace(/(\/index)?\.[tj]s$/, '').replaceAll('\\', '/')).sort();
}

function faultOf(plugin: unknown): string | null {
  if (typeof plugin !== 'object' || plugin === null) return 'its file must default-export one object';
  const { name, summary, schema, apply } = plugin as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[\w-]+\/[\w-]+$/.test(name)) return '`name` must be "folder/name"';
  if (typeof summary !== 'string') return '`summary` must be one line of text';
  if (schema !== undefined && (typeof schema !== 'object' || schema === null)) return '`schema` must be a JSON Schema of its options';
  if (typeof apply !== 'function') return '`apply` must be a function';
  return null;
}
