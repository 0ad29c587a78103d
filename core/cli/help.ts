/** The texts of `--help`. */
import type { CommandSpec, Flag } from '../host/command.ts';
import { sharedFlags } from './command-table.ts';

type NamedFlag = readonly [name: string, flag: Flag];

/** `-c, --config FILE`, or `    --limit N`. */
const labelOf = ([name, { short, type, value = 'VALUE' }]: NamedFlag): string =>
  `${short === undefined ? '    ' : `-${short}, `}--${name}${type === 'boolean' ? '' : ` ${value}`}`;

function flagLines(flags: readonly NamedFlag[]): string[] {
  const width = Math.max(...flags.map((flag) => labelOf(flag).length));
  return flags.map((flag) => `  ${labelOf(flag).padEnd(width)}  ${flag[1].help}`.trimEnd());
}

/** The help of one command. */
export function commandHelp({ name, summary, flags = {}, words, examples = [] }: CommandSpec): string {
  const sections = Map.groupBy(Object.entries(flags), ([, { heading }]) => heading ?? '');
  const { '': first = [], ...others } = Object.fromEntries(sections);
  return [
    `gateway ${name}${words === undefined ? '' : ` ${words}`}: ${summary}`,
    '',
    ...flagLines(first),
    ...Object.entries(others).flatMap(([heading, list]) => ['', `${heading}:`, ...flagLines(list)]),
    ...(examples.length === 0 ? [] : ['', 'For example:', ...examples.map((example) => `  ${example}`)]),
    '',
  ].join('\n');
}

/** One line for each command. */
export function commandList(commands: readonly CommandSpec[]): string[] {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return commands.map(({ name, summary }) => `  gateway ${name.padEnd(width)}  ${summary}`);
}

/** The help of the whole program. @param note a line below the list of commands; null: none */
export function overview(commands: readonly CommandSpec[], note: string | null): string {
  return [
    'Model Gateway: one process in front of many model providers.',
    '',
    ...commandList(commands),
    ...(note === null ? [] : ['', note]),
    '',
    ...flagLines(Object.entries(sharedFlags)),
    '',
    'Every command has its own --help. gateway --version prints the version.',
    '',
    'Examples',
    ...commands.flatMap(({ examples = [] }) => examples.slice(0, 1).map((example) => `  ${example}`)),
    '  curl localhost:4000/v1/chat/completions -H "content-type: application/json" \\',
    `    -d '{"model":"auto","messages":[{"role":"user","content":"hi"}]}'`,
    '',
    'Exit codes: 0 fine, 1 config, 2 usage, 3 port in use, 4 store, 5 no gateway runs, 70 a bug.',
    '',
  ].join('\n');
}
