/** `gateway init`: writes a config to begin with, from the one that comes with the gateway. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Exit } from '../../exit.ts';
import type { Output } from '../../host/command.ts';
import { packageFolder } from '../../version.ts';
import { defaultConfigFile } from '../command-table.ts';
import { shippedConfig } from './shipped.ts';

/** @param on the names of the providers that are on in this environment */
export function writeConfig(on: readonly string[], { print }: Pick<Output, 'print'>): void {
  const file = resolve(defaultConfigFile);
  try {
    writeFileSync(file, configText(readFileSync(shippedConfig, 'utf8'), on), { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fault = code === 'EEXIST' ? 'exists already, and is not changed.' : `cannot be written: ${message}`;
    throw new Exit(1, `${file} ${fault}`, { cause: error });
  }
  print(
    `${file} is written, with these providers on: ${on.join(', ')}.\nThe other providers are in the file too. Each is on when its variable is set, in the environment or in .env beside the file.\nNext: gateway check, then gateway start (npx model-gateway start)\n`,
  );
}

/** The shipped config for another folder: providers that are on come first, and files of the package are found from every folder. */
function configText(shipped: string, on: readonly string[]): string {
  const [, before = '', block = '', after = ''] = /^([^]*?\nproviders:\n)((?: {2}.*\n)+)([^]*)$/.exec(shipped) ?? [];
  const lines = block.trimEnd().split('\n');
  const isOn = (line: string): boolean => on.includes(/^ {2}([\w-]+):/.exec(line)?.[1] ?? '');
  const sorted = [
    '  # on',
    ...lines.filter(isOn),
    '',
    '  # off until their variables are set',
    ...lines.filter((line) => !isOn(line)),
    '',
  ].join('\n');
  return (before + sorted + after)
    .replace('$schema=./schemas/', `$schema=${packageFolder}/schemas/`)
    .replace('  - ./config/catalogue/', '  - model-gateway/config/catalogue/');
}
