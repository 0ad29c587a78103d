/** The config that comes with the gateway: it is used where nobody has named a file and the folder has none. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { UsageError } from '../../exit.ts';
import { packageFolder } from '../../version.ts';
import { defaultConfigFile } from '../command-table.ts';

export const shippedConfig: string = join(packageFolder, defaultConfigFile);

/**
 * The config file of a command.
 * @param named by `--config`; null: nobody has named one. An empty text comes from a variable of the shell that is not set
 */
export function configFile(named: string | null): string {
  if (named === '') throw new UsageError('--config needs the name of a file');
  return named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : shippedConfig);
}

/** The folder of `.env` and of the data. safety: the folder of the package does not belong to the operator, and may be a cache. */
export const homeOf = (file: string): { readonly home?: string } => (file === shippedConfig ? { home: process.cwd() } : {});

/** Three lines for somebody who has no file yet. */
export function shippedText({ server, providers }: Config): string {
  const all = [...providers.values()];
  const on = all.filter(({ missing }) => missing === null).map(({ id }) => id);
  const wanted = all.find(({ missing }) => missing !== null)?.missing ?? null;
  return [
    `There is no ${defaultConfigFile} in this folder, so the one that comes with the gateway is used; the log is kept in ${server.dataDir}.`,
    `Providers that are on: ${on.join(', ')}.${wanted === null ? '' : ` A key in the environment or in .env, such as ${wanted}, turns its provider on.`}`,
    `For a config of your own: gateway init (npx model-gateway init)\n`,
  ].join('\n');
}
