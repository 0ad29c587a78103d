/** The commands of the gateway itself, and the flags that they share. All other commands come from plugins. */
import type { CommandSpec, Flag } from '../host/command.ts';

const config: Flag = {
  type: 'string',
  short: 'c',
  value: 'FILE',
  help: 'the YAML file (default: gateway.config.yaml, or where there is none the one that comes with the gateway)',
};
const port: Flag = { type: 'string', short: 'p', value: 'N', range: [0, 65_535], help: 'listen on this port, instead of server.port' };
const host: Flag = { type: 'string', short: 'H', value: 'H', help: 'listen on this address, instead of server.host' };
const json: Flag = { type: 'boolean', help: 'print JSON for machines' };
const help: Flag = { type: 'boolean', short: 'h', help: 'this text' };
const pid: Flag = { type: 'string', value: 'N', range: [2, 4_194_304], help: 'the process to restart, where several run with one config' };
const name: Flag = { type: 'string', value: 'NAME', help: 'the name under which the log shows requests with this key' };
const out: Flag = {
  type: 'string',
  short: 'o',
  value: 'FILE',
  help: 'write the new config into this file, which must not exist yet; without it the config is printed',
};

const route = {
  model: { type: 'string', short: 'm', value: 'NAME', help: 'the model or policy that the request names (default: auto)' },
  key: { type: 'string', short: 'k', value: 'NAME', help: 'route as the caller whose key has this name' },
  meta: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'a metadata value; may be given several times' },
  stream: { type: 'boolean', help: 'as a stream' },
  effort: { type: 'string', value: 'E', help: 'reasoning effort: low, medium, high, …' },
  'max-tokens': { type: 'string', value: 'N', range: [1, 10_000_000], help: 'the most tokens of the answer' },
} as const satisfies Readonly<Record<string, Flag>>;

export const defaultConfigFile = 'gateway.config.yaml';

export const coreCommands = [
  {
    name: 'start',
    summary: 'serve requests; this also runs when no command is given',
    flags: { config, port, host, json, help },
    examples: ['gateway start --port 5000'],
  },
  {
    name: 'init',
    summary: 'write a commented gateway.config.yaml into this folder; an existing file is not changed',
    flags: { help },
    examples: ['gateway init'],
  },
  {
    name: 'import',
    summary: 'convert the config of another gateway (litellm, portkey), and list what has no counterpart',
    words: 'GATEWAY FILE [KEYS…]',
    flags: { out, help },
    examples: ['gateway import litellm config.yaml --out gateway.config.yaml'],
  },
  {
    name: 'restart',
    summary: 'replace the running process with a new one; no request is lost',
    flags: { config, pid, help },
    examples: ['gateway restart --config /etc/gateway.yaml'],
  },
  {
    name: 'check',
    summary: 'read the config and load every plugin, print what is wrong, serve nothing',
    flags: { config, help },
    examples: ['gateway check --config /etc/gateway.yaml'],
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of the config, with the options of your own plugins, for editors',
    flags: { config, help },
    examples: ['gateway schema > gateway.schema.json'],
  },
  {
    name: 'doctor',
    summary:
      'check the config, the providers and their keys, the store, Redis, the disk, the clock and the gateway that runs, and tell what to do',
    flags: { config, json, help },
  },
  { name: 'models', summary: 'list the models, their providers and prices', flags: { config, json, help } },
  {
    name: 'route',
    summary: 'show where a request would go, why, and what it would cost; no provider is asked',
    words: 'PROMPT',
    flags: { ...route, config, json, help },
    examples: ['gateway route --model auto "Why is the sky blue?"'],
  },
  { name: 'keys create', summary: "make a caller's key, and the lines for the config", flags: { name, json, help } },
] as const satisfies readonly CommandSpec[];

export type CoreCommand = (typeof coreCommands)[number];

/** Words that the program itself answers to, besides the commands. */
export const reservedWords: readonly string[] = ['help', 'version'];

/** Every command of a plugin has these too. */
export const standardFlags: Readonly<Record<string, Flag>> = { config, json, help };

/** The flags that `gateway --help` shows. */
export const sharedFlags: Readonly<Record<string, Flag>> = { config, port, host, json, help };
