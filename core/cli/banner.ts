/** The text that an operator reads at the start: the address, the config file, the providers that are on, and an example of a request. */
import { networkInterfaces } from 'node:os';
import { relative } from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../config.ts';
import { adminKeyFile, usesKeptAdminKey } from '../host/admin-key.ts';
import { counted } from '../table.ts';
import { version } from '../version.ts';
import { isLoopback } from '../wire/address.ts';

interface BannerFacts {
  readonly url: string;
  readonly config: Config;
  readonly pages: readonly { readonly title: string; readonly path: string }[];
  readonly file: string;
  readonly startedInMs: number;
}

export function bannerOf({ url, config, pages, file, startedInMs }: BannerFacts): string {
  const arrow = styleText('green', '➜');
  const reasoning = config.models.filter(({ providers }) => providers.some(({ reasoning }) => reasoning !== null)).length;
  const model = config.routing.models.has('auto') ? 'auto' : (config.models[0]?.id ?? 'auto');
  const credentials = config.server.isGuarded ? " -H 'authorization: Bearer YOUR_KEY'" : '';
  const lines = [
    '',
    `  ${styleText('bold', 'Model Gateway')} ${version}   listening in ${(startedInMs / 1000).toFixed(1)} s`,
    '',
    `  ${arrow} ${row('API', `${url}/v1`).trimStart()}`,
    ...pages.map(({ title, path }) => `  ${arrow} ${row(title, `${url}${path}`).trimStart()}`),
    `  ${arrow} ${row('Network', networkOf(url)).trimStart()}`,
    '',
    row('config', `${relative(process.cwd(), file) || file}   (watching)`),
    row('providers', providersOf(config)),
    row('models', `${config.models.length} (${reasoning} with reasoning)   gateway models`),
    row('keys', keysOf(config)),
    row('admin key', adminKeyOf(config)),
    row('plugins', config.plugins.map(({ use }) => use).join(', ')),
    '',
    '  Try it:',
    `    curl ${url}/v1/chat/completions -H 'content-type: application/json'${credentials} \\`,
    `      -d '{"model":"${model}","messages":[{"role":"user","content":"hi"}]}'`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}

/** How much there is in a config: `2 models, 1 of 3 providers on`. */
export function contentsOf({ models, providers }: Config): string {
  const on = [...providers.values()].filter(({ missing }) => missing === null);
  return `${counted(models.length, 'model')}, ${on.length} of ${counted(providers.size, 'provider')} on`;
}

const row = (label: string, text: string): string => `  ${styleText('dim', label.padEnd(10))} ${text}`;

function keysOf({ keys, server }: Config): string {
  if (keys.length > 0) return String(keys.length);
  return server.isGuarded ? 'none in the config' : 'none: open to this machine';
}

/** Where the operator finds the key of the dashboard and the log. */
function adminKeyOf(config: Config): string {
  const { adminKey, adminOpen, dataDir } = config.server;
  if (usesKeptAdminKey(config)) return `in ${relative(process.cwd(), adminKeyFile(dataDir))}`;
  if (adminOpen) return 'none needed on this machine';
  return adminKey === null ? 'none: open to this machine' : 'server.admin_key';
}

/** The providers that are on, and what the other providers lack. */
function providersOf({ providers }: Config): string {
  const list = [...providers.values()];
  const on = list.filter(({ missing }) => missing === null).map(({ id }) => `${id} ${styleText('green', '✓')}`);
  const off = list.filter(({ missing }) => missing !== null).map(({ id, missing }) => `${id} (${missing} not set)`);
  const dimmed = off.length === 0 ? [] : ['off:', ...off.map((text) => `  ${text}`)].map((line) => styleText('dim', line));
  return [on.join('  ') || 'none is on', ...dimmed].join('\n             ');
}

/** The addresses at which other machines reach the gateway. */
function networkOf(url: string): string {
  // URL.parse refuses an address with the name of an interface
  const [, protocol = '', host = '', port = ''] = /^(\w+:)\/\/(.*):(\d+)$/.exec(url) ?? [];
  if (isLoopback(host)) return styleText('dim', 'this machine only; --host 0.0.0.0 with keys to expose');
  if (host !== '0.0.0.0' && host !== '[::]') return `${url}/v1`;
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4');
  return addresses.map(({ address }) => `${protocol}//${address}:${port}/v1`).join(', ');
}
