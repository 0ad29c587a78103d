/** The command line: which command, which flags, and a message that helps when one is wrong. */
import { parseArgs } from 'node:util';
import { didYouMean } from './suggest.ts';

export interface Flags {
  readonly config: string;
  readonly port: number | null;
  readonly host: string | null;
  readonly json: boolean;
}

export type Command = { readonly name: 'start' | 'check' | 'models'; readonly flags: Flags } | { readonly name: 'help'; readonly text: string } | { readonly name: 'version' };

/** A command line that cannot be understood: exit code 2. */
export class UsageError extends Error {}

const commands = {
  start: { does: 'serve the gateway (what runs without a command too)', options: ['config', 'port', 'host', 'json', 'help'] },
  check: { does: 'read the config and every plugin, say what is wrong, serve nothing', options: ['config', 'help'] },
  models: { does: 'list the models, their providers and prices', options: ['config', 'json', 'help'] },
} as const;

const options = {
  config: { type: 'string', short: 'c', help: '--config FILE   the YAML file (default: gateway.config.yaml)' },
  port: { type: 'string', short: 'p', help: '--port N        listen on this port, over server.port' },
  host: { type: 'string', short: 'H', help: '--host H        listen on this address, over server.host' },
  json: { type: 'boolean', help: '--json          print JSON for machines' },
  help: { type: 'boolean', short: 'h', help: '--help          this text' },
} as const;

export function parseCommand(args: readonly string[]): Command {
  const [first = 'start', ...rest] = args;
  if (first === '--version' || first === '-v' || first === 'version') return { name: 'version' };
  if (first === 'help' || first === '--help' || first === '-h') return { name: 'help', text: helpText() };
  const isCommand = !first.startsWith('-');
  const name = isCommand ? first : 'start';
  if (!Object.hasOwn(commands, name)) throw new UsageError(`unknown command "${name}".${didYouMean(name, Object.keys(commands))} See gateway --help`);
  const command = name as keyof typeof commands;
  const values = parseFlags(command, isCommand ? rest : [...args]);
  if (values.help === true) return { name: 'help', text: helpText(command) };
  return { name: command, flags: { config: values.config ?? 'gateway.config.yaml', port: portOf(values.port), host: values.host ?? null, json: values.json ?? false } };
}

function parseFlags(command: keyof typeof commands, args: string[]): { config?: string; port?: string; host?: string; json?: boolean; help?: boolean } {
  const known: readonly string[] = commands[command].options;
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`unexpected "${token.value}" after gateway ${command}`);
    if (token.kind === 'option' && !known.includes(token.name)) {
      throw new UsageError(`unknown option ${token.rawName}.${didYouMean(token.name, known).replaceAll('"', '').replace('mean ', 'mean --')} See gateway ${command} --help`);
    }
  }
  try {
    return parseArgs({ args, options, strict: true }).values;
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function portOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`--port must be a number from 0 to 65535, not "${text}"`);
  return port;
}

function helpText(command?: keyof typeof commands): string {
  if (command !== undefined) {
    const lines = commands[command].options.map((name) => `  ${options[name].help}`);
    return [`gateway ${command}: ${commands[command].does}`, '', ...lines, ''].join('\n');
  }
  const list = Object.entries(commands).map(([name, { does }]) => `  gateway ${name.padEnd(8)} ${does}`);
  return [
    'Model Gateway: one process in front of many model providers.',
    '',
    ...list,
    '',
    ...Object.values(options).map(({ help }) => `  ${help}`),
    '',
    'Examples',
    '  gateway start --port 5000',
    '  gateway check --config /etc/gateway.yaml',
    '  curl localhost:4000/v1/chat/completions -H "content-type: application/json" \\',
    `    -d '{"model":"auto","messages":[{"role":"user","content":"hi"}]}'`,
    '',
    'Exit codes: 0 fine, 1 config, 2 usage, 3 port in use, 4 store.',
    '',
  ].join('\n');
}
