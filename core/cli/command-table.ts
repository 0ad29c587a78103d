/** The commands and their flags, as they are parsed and as `--help` tells of them. */
import type { ParseArgsOptionsConfig } from 'node:util';

type FlagSpec = ParseArgsOptionsConfig[string] & {
  /** `--flag VALUE`, padded, and what it does. */
  readonly help: string;
};

const filter = (help: string) => ({ type: 'string', multiple: true, help }) as const;

/** Flags that are filters of the log, under the names of its grammar. */
const filterFlags = {
  since: filter('--since SPAN    15m, 24h, 7d: not older than that'),
  from: filter('--from TIME     2026-03-01 or 2026-03-01T14:30:00Z'),
  to: filter('--to TIME'),
  model: filter('--model ID'),
  provider: filter('--provider ID'),
  key: filter('--key NAME'),
  agent: filter("--agent NAME    the client's user agent, as it sent it"),
  status: filter('--status S      ok, error, 4xx, 429'),
  outcome: filter('--outcome O     answered, cut, refused, failed, gone, interrupted'),
  finish: filter('--finish F      completed, length_limit, tool_calls, content_filter'),
  stream: filter('--stream BOOL   true or false'),
  cached: filter('--cached BOOL   tokens from a cache of the provider'),
  reasoning: filter('--reasoning BOOL tokens of reasoning'),
  meta: filter('--meta KEY=VAL  metadata, for example --meta tenant-id=acme'),
  latency: filter("--latency '>2s' also <, >= and <="),
  ttft: filter("--ttft '>500ms' time to the first token"),
  tokens: filter("--tokens '>1000'"),
  cost: filter("--cost '>0.01'  dollars"),
  q: filter('--q TEXT        text in stored bodies'),
} as const satisfies Record<string, FlagSpec>;

export const filterFlagNames = Object.keys(filterFlags) as (keyof typeof filterFlags)[];

export const flags = {
  config: { type: 'string', short: 'c', help: '--config FILE   the YAML file (default: gateway.config.yaml)' },
  port: { type: 'string', short: 'p', help: '--port N        listen on this port, over server.port' },
  host: { type: 'string', short: 'H', help: '--host H        listen on this address, over server.host' },
  json: { type: 'boolean', help: '--json          print JSON for machines' },
  follow: { type: 'boolean', short: 'f', help: '-f, --follow    go on with requests as they end' },
  id: { type: 'string', help: '--id ID         one request with its bodies; the id alone does too' },
  limit: { type: 'string', help: '--limit N       how many at most (default: 20)' },
  by: { type: 'string', help: '--by WHAT       model, provider, key, finish, status, outcome or meta.<key>' },
  name: { type: 'string', help: '--name NAME     name of the key in logs' },
  help: { type: 'boolean', short: 'h', help: '--help          this text' },
  ...filterFlags,
} as const satisfies Record<string, FlagSpec>;

export type FlagName = keyof typeof flags;

interface CommandSpec {
  readonly does: string;
  readonly flags: readonly FlagName[];
  /** What words without a flag are; absent: there are none. */
  readonly words?: string;
  /** Where a flag means something else here than elsewhere. */
  readonly help?: Partial<Record<FlagName, string>>;
  readonly example?: string;
}

const where: Partial<Record<FlagName, string>> = { port: '--port N        where the gateway listens, over server.port', host: '--host H        where the gateway listens, over server.host' };

export const commands = {
  start: { does: 'serve the gateway (what runs without a command too)', flags: ['config', 'port', 'host', 'json', 'help'] },
  check: { does: 'read the config and every plugin, say what is wrong, serve nothing', flags: ['config', 'help'] },
  models: { does: 'list the models, their providers and prices', flags: ['config', 'json', 'help'] },
  logs: {
    does: 'show requests on record: a list, one by its id, or live',
    flags: ['follow', 'id', 'limit', ...filterFlagNames, 'config', 'port', 'host', 'json', 'help'],
    words: '[ID | SEARCH]',
    help: where,
    example: `gateway logs -f --status error    gateway logs 'model:gpt-5 latency:>2s "refund"'`,
  },
  stats: {
    does: 'sum up requests, tokens, cost and latency',
    flags: ['by', 'limit', ...filterFlagNames, 'config', 'port', 'host', 'json', 'help'],
    words: '[SEARCH]',
    help: where,
    example: 'gateway stats --by meta.tenant-id --since 7d',
  },
  'keys create': { does: "make a caller's key, and the lines for the config", flags: ['name', 'json', 'help'] },
  'db status': { does: 'say where requests are stored, and which migrations are applied', flags: ['config', 'json', 'help'] },
  'db migrate': { does: 'bring the store into the form that this version needs', flags: ['config', 'json', 'help'] },
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof commands;

export const specOf = (command: CommandName): CommandSpec => commands[command];

/** What follows a first word that is not a command by itself: `create` after `keys`. */
export const subcommandsOf = (word: string): string[] => Object.keys(commands).filter((name) => name.startsWith(`${word} `)).map((name) => name.slice(word.length + 1));

const isFilter = (name: FlagName): boolean => (filterFlagNames as readonly FlagName[]).includes(name);

/** The help of one command. */
export function commandHelp(command: CommandName): string {
  const { does, flags: known, words, help, example } = specOf(command);
  const line = (name: FlagName): string => `  ${help?.[name] ?? flags[name].help}`;
  const filters = known.filter(isFilter);
  return [
    `gateway ${command}${words === undefined ? '' : ` ${words}`}: ${does}`,
    '',
    ...known.filter((name) => !isFilter(name)).map(line),
    ...(filters.length === 0 ? [] : ['', 'Filters; one that is given twice means either value:', ...filters.map(line)]),
    ...(example === undefined ? [] : ['', `For example: ${example}`]),
    '',
  ].join('\n');
}

/** The help of all of them. @param only those that begin with this word */
export function overview(only?: string): string {
  const listed = Object.entries(commands).filter(([name]) => only === undefined || name.startsWith(`${only} `));
  const list = listed.map(([name, { does }]) => `  gateway ${name.padEnd(12)} ${does}`);
  if (only !== undefined) return [...list, ''].join('\n');
  return [
    'Model Gateway: one process in front of many model providers.',
    '',
    ...list,
    '',
    ...(['config', 'port', 'host', 'json', 'help'] as const).map((name) => `  ${flags[name].help}`),
    '',
    'Every command has its own --help.',
    '',
    'Examples',
    '  gateway start --port 5000',
    '  gateway check --config /etc/gateway.yaml',
    '  gateway logs -f --status error',
    '  gateway stats --by meta.tenant-id --since 7d',
    '  curl localhost:4000/v1/chat/completions -H "content-type: application/json" \\',
    `    -d '{"model":"auto","messages":[{"role":"user","content":"hi"}]}'`,
    '',
    'Exit codes: 0 fine, 1 config, 2 usage, 3 port in use, 4 store.',
    '',
  ].join('\n');
}
