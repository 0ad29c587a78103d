/** The composition root: the one file of the core that imports from outside the core. Command line → config → plugins → gateway → port. */
import { resolve } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import type { Loaded } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { editorSchema } from '../../config/resolve/editor.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { told } from '../../config/written.ts';
import type { Bound, Config, Provider } from '../config.ts';
import { Exit, UsageError } from '../exit.ts';
import { adminKeyText, createAdminKeys, withKeptAdminKey } from '../host/admin-key.ts';
import type { NewAdminKey, UnkeptKeys } from '../host/admin-key.ts';
import type { CommandSpec, FlagValues, Output } from '../host/command.ts';
import { type RunningGateway, startGateway } from '../host/gateway.ts';
import { createPluginLoader } from '../host/loader.ts';
import type { AnyPlugin } from '../host/plugin.ts';
import { Places } from '../host/places.ts';
import { reportOff } from '../host/reload.ts';
import { States } from '../host/state.ts';
import { PortInUse, UnusableSocket } from '../http/bind.ts';
import { createLogger, type Write } from '../logger.ts';
import { serveAlone } from '../run/alone.ts';
import { serveWithWorkers } from '../run/parent.ts';
import { exit } from '../run/serving.ts';
import type { Building, Starting } from '../run/serving.ts';
import { numberOfWorker, serveForParent } from '../run/worker.ts';
import { counted, jsonText, printableLines } from '../table.ts';
import { version } from '../version.ts';
import { createAskRunning } from './ask-running.ts';
import { bannerOf, contentsOf } from './banner.ts';
import {
  asksForList,
  configFileOf,
  findCommand,
  groupOf,
  nearCommand,
  parseCommandLine,
  unknownCommand,
  unlistedCommand,
} from './command-line.ts';
import { keepFolder } from './begin/folder.ts';
import { writeConfig } from './begin/init.ts';
import { outlive } from './begin/mishaps.ts';
import { configFile, homeOf, shippedConfig, shippedText } from './begin/shipped.ts';
import { coreCommands, defaultConfigFile } from './command-table.ts';
import type { CoreCommand } from './command-table.ts';
import { examine } from './doctor/doctor.ts';
import { endOnSignals } from './ending.ts';
import { commandList, overview } from './help.ts';
import { createKey } from './keys.ts';
import { modelTable } from './model-table.ts';
import { commandsOf, createCommandCheck, runPluginCommand } from './plugin-commands.ts';
import { restart } from './restart.ts';
import { printRoute } from './route.ts';
import { RunningFile } from './running-files.ts';
import { originOf, tellReady, tellRefusal } from './succession.ts';

type Good = Extract<Loaded, { ok: true }>;

const pluginsFolder = new URL('../../plugins/', import.meta.url);
const places = new Places(pluginsFolder.href);
const loadPlugin = createPluginLoader(pluginsFolder, places);
const toStderr: Write = (line) => void process.stderr.write(`${line}\n`);
// a gateway that is started for one question writes errors only: its warnings may not be true of the gateway that will serve
const onlyErrors: Write = (line, level) => void (level === 'error' && toStderr(line, level));
const logger = createLogger(toStderr);
const output: Output = { print: (text) => void process.stdout.write(text), say: (text) => void process.stderr.write(text) };
const fileOf = (flags: FlagValues): string => configFile(flags.text('config'));
/** Values that plugins keep over reloads. */
const states = new States();

const unkeptKeys: UnkeptKeys = new Map();
const completeAdminKey = createAdminKeys(unkeptKeys);

/** Settings that do not come from the config file. */
interface Given {
  /** Values of the command line, which override those of the file. */
  readonly overrides?: { readonly host?: string; readonly port?: number };
  /** What a running gateway keeps. */
  readonly bound?: Bound;
}

async function load(file: string, given: Given = {}): Promise<Loaded> {
  const checkCommands = createCommandCheck();
  const loadChecked: typeof loadPlugin = async (use, folder) => {
    const plugin = await loadPlugin(use, folder);
    checkCommands(plugin);
    return plugin;
  };
  return told(await loadConfig(file, { env: process.env, loadPlugin: loadChecked, shippedPlugins, ...homeOf(file), ...given }));
}

async function loadGood(file: string, given: Given = {}): Promise<Good> {
  const loaded = await load(file, given);
  if (!loaded.ok) throw new Exit(1, formatProblems(loaded.problems));
  warn(loaded.warnings);
  return loaded;
}

function warn(warnings: Good['warnings']): void {
  if (warnings.length > 0) output.say(`${formatProblems(warnings, 'warning')}\n`);
}

function warnOfChanged(named: Loaded['named']): void {
  const plugins = named.map(({ plugin }) => plugin.name).filter((name) => places.changed.has(name));
  if (plugins.length > 0) logger.warn('a changed plugin waits for a restart', { plugins });
}

const build = ({ config, plugins }: Pick<Good, 'config' | 'plugins'>, how: Building = {}, write = toStderr): Promise<RunningGateway> =>
  startGateway({ config, plugins, write, states, ...how });

/** A new admin key that the operator has not seen yet. */
let untold: NewAdminKey | null = null;

function withAdminKey(read: Config): Config {
  try {
    const { config, made } = completeAdminKey(read);
    untold = made ?? untold;
    return config;
  } catch (error) {
    return exit(error);
  }
}

/**
 * Prints a new admin key.
 * safety: it goes to the operator as plain text, and never into the process log.
 * @param pages where one can sign in
 */
function tellAdminKey(url: string, pages: RunningGateway['pages']): void {
  if (untold !== null) {
    output.say(
      adminKeyText(
        untold,
        pages.map(({ path }) => url + path),
      ),
    );
  }
  untold = null;
}

// a start that fails after this, because the port is taken, has still made the key, and the next start does not print it
process.on('exit', () => tellAdminKey('', []));

/** Whether the command is `start`. */
let isServing = false;

async function start(flags: FlagValues): Promise<void> {
  isServing = true;
  // without a listener these signals would end the process while it starts. A config that
  // changes meanwhile is read again in any case, and a worker leaves both signals to its parent
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {});
  const readAt = Date.now();
  let file = fileOf(flags);
  const [host, port] = [flags.text('host'), flags.number('port')];
  const overrides = { ...(host !== null && { host }), ...(port !== null && { port }) };
  const number = numberOfWorker();
  if (file !== shippedConfig) void keepFolder(resolve(file), logger, (path) => (file = path));
  const starting: Starting = {
    logger,
    places,
    unkeptKeys,
    withAdminKey,
    tellAdminKey,
    async read(bound) {
      const loaded = await load(file, { overrides, ...(bound !== undefined && { bound }) });
      if (number === null) warnOfChanged(loaded.named);
      if (loaded.ok && number === null) warn(loaded.warnings);
      return loaded.ok ? loaded : { problems: formatProblems(loaded.problems), files: loaded.files };
    },
    build: async ({ config, plugins }, how) => await build({ config: withAdminKey(config), plugins }, how),
  };
  if (number !== null) return serveForParent(starting, number);
  const read = await loadGood(file, { overrides });
  const { config } = read;
  if (file === shippedConfig) output.say(shippedText(config));
  const origin = originOf(config.server);
  const beginning = { read, readAt, inherited: origin.inherited };
  const { current, listening, watching } =
    config.server.workers > 1 ? await serveWithWorkers(starting, beginning, toStderr) : await serveAlone(starting, beginning);
  const { url } = listening;

  const runningFile = new RunningFile(() => current().config.server.dataDir, { config: resolve(file), url, follows: origin.follows });
  endOnSignals({ current, watching, listening, logger, file: runningFile, origin, asked: config.server });
  process.on('SIGHUP', () => void watching.readNow());

  const { pages } = current();
  const isText = process.stdout.isTTY && !flags.has('json');
  process.stdout.write(
    isText
      ? bannerOf({ url, config, pages, file: resolve(file), startedInMs: performance.now() })
      : `${JSON.stringify({ msg: 'listening', url, version })}\n`,
  );
  if (!isText && file !== shippedConfig) reportOff(config, logger);
  tellAdminKey(url, pages);
  await tellReady();
}

async function check(flags: FlagValues): Promise<void> {
  const file = fileOf(flags);
  const loaded = await load(file);
  if (!loaded.ok) throw new Exit(1, formatProblems(loaded.problems));
  const { config, warnings } = loaded;
  const faults = warnings.filter(({ isFault }) => isFault === true);
  warn(warnings.filter(({ isFault }) => isFault !== true));
  if (faults.length > 0) throw new Exit(1, formatProblems(faults));
  const trial = await startGateway({ ...loaded, write: toStderr, isTrial: true }).catch(exit);
  await trial.close();
  output.print(`${file} is fine: ${contentsOf(config)}, ${counted(config.plugins.length, 'plugin')}\n`);
  if (config.models.length + config.wildcards.length === 0) output.print(noModel);
  else output.print(allOffOf([...config.providers.values()]));
}

/** A remark on a config whose providers are all off; empty where one is on. */
function allOffOf(providers: readonly Provider[]): string {
  if (providers.length === 0 || providers.some(({ missing }) => missing === null)) return '';
  const named = providers.map(({ id, missing }) => `${missing} for ${id}`).join(', or ');
  return `Every provider is off, so each request for a model gets 503. Set ${named}, in the environment or in .env beside the config.\n`;
}

const noModel = 'It serves no model, so callers can ask for nothing: add models, or include: [model-gateway/config/catalogue/*.yaml]\n';

async function init(): Promise<void> {
  const { config } = await loadGood(shippedConfig);
  writeConfig(
    [...config.providers.values()].flatMap(({ id, missing }) => (missing === null ? [id] : [])),
    output,
  );
}

/** Prints the schema for a config with faults too, because editors need the schema to show the faults. */
async function schema(flags: FlagValues): Promise<void> {
  const loaded = await load(fileOf(flags));
  output.print(jsonText(editorSchema([...loaded.named, ...(await loadShipped())])));
  if (!loaded.ok) output.say(`${formatProblems(loaded.problems)}\n`);
}

/** All plugins that ship. */
const loadShipped = async (): Promise<{ use: string; plugin: AnyPlugin }[]> =>
  await Promise.all(shippedPlugins.map(async (use) => ({ use, plugin: await loadPlugin(use, import.meta.dirname) })));

async function doctor(flags: FlagValues): Promise<void> {
  const file = fileOf(flags);
  const loaded = await load(file);
  const read = loaded.ok
    ? { ...loaded, warnings: loaded.warnings.length === 0 ? '' : formatProblems(loaded.warnings, 'warning') }
    : { faults: formatProblems(loaded.problems) };
  await examine({ ...output, json: flags.has('json'), file: resolve(file), read, logger });
}

async function models(flags: FlagValues): Promise<void> {
  const { config } = await loadGood(fileOf(flags));
  output.print(flags.has('json') ? jsonText(config.models) : modelTable(config));
}

async function restartRunning(flags: FlagValues): Promise<void> {
  const file = fileOf(flags);
  const { config } = await loadGood(file);
  await restart({ dataDir: config.server.dataDir, config: resolve(file), pid: flags.number('pid') }, output);
}

async function route(flags: FlagValues, words: readonly string[]): Promise<void> {
  const file = fileOf(flags);
  const { config, plugins } = await loadGood(file);
  await printRoute({
    ...output,
    config: withKept(config),
    file: resolve(file),
    plugins,
    flags,
    words,
    start: (good) => build(good, {}, onlyErrors).catch(exit),
  });
}

const coreRuns: Readonly<Record<CoreCommand['name'], (flags: FlagValues, words: readonly string[]) => Promise<void> | void>> = {
  start,
  init,
  // cost: the modules of this command are loaded only when it runs
  import: async (flags, words) =>
    (await import('../../config/import/command.ts')).importConfig({
      ...output,
      words,
      out: flags.text('out'),
      catalogue: (await loadGood(shippedConfig)).config.models,
    }),
  restart: restartRunning,
  check,
  models,
  route,
  schema,
  doctor,
  'keys create': (flags) => createKey({ name: flags.text('name'), json: flags.has('json') }, output),
};

/** `gateway --help`: the gateway's own commands, and those of plugins where the config can be read. */
async function printOverview(file: string): Promise<void> {
  const loaded = await load(file);
  if (loaded.ok) output.print(overview([...coreCommands, ...commandsOf(loaded.plugins)], null));
  else output.print(overview(coreCommands, unreadable(file)));
}

const unreadable = (file: string): string =>
  `Plugins bring more commands. They are not listed here, because ${file} has faults; see gateway check${file === defaultConfigFile ? '' : ` --config ${file}`}`;

/** Runs a command that is not the gateway's own: the config is read first, and its plugins say which commands there are. */
async function runFromPlugin(args: readonly string[]): Promise<void> {
  const file = configFileOf(args);
  const loaded = await load(file);
  const brought = loaded.ok ? commandsOf(loaded.plugins) : [];
  const commands = [...coreCommands, ...brought];
  const [first = '', second] = args;
  const group = groupOf(first, commands);
  if (group.length > 0 && asksForList(second) && !brought.some(({ name }) => name === first)) {
    return output.print([...commandList(group), ...(loaded.ok ? [] : ['', unreadable(file)]), ''].join('\n'));
  }
  if (!loaded.ok) {
    throw new Exit(
      1,
      `${formatProblems(loaded.problems)}\n\n"${first}" is no command of the gateway itself.${nearCommand(first, coreCommands)} A plugin may add it; the commands of plugins are known only when the config has no faults.`,
    );
  }
  const found = findCommand(args, brought);
  if (found === null) throw await unknown(args, commands, file);
  const config = withKept(loaded.config);
  await runPluginCommand({
    command: found.command,
    args: found.rest,
    config,
    plugins: loaded.plugins,
    output,
    askRunning: createAskRunning({ config, file: resolve(file) }, output.say),
    begin: () => warn(loaded.warnings),
    start: (good) => build(good).catch(exit),
  });
}

function withKept(config: Config): Config {
  try {
    return withKeptAdminKey(config);
  } catch (error) {
    return exit(error);
  }
}

/** Names the shipped plugin that brings the command, where the config does not list it. */
async function unknown(args: readonly string[], commands: readonly CommandSpec[], file: string): Promise<UsageError> {
  const shipped = await loadShipped();
  const found = unlistedCommand(args, commandsOf(shipped.map(({ plugin }) => ({ plugin, options: {} }))), commands);
  return found === null
    ? unknownCommand(args, commands)
    : new UsageError(`"${found.words}" is a command of the plugin ${found.command.owner.plugin.name}, which ${file} does not list.`);
}

async function main(given: readonly string[]): Promise<void> {
  const line = parseCommandLine(given);
  switch (line.kind) {
    case 'version':
      return output.print(`${version}\n`);
    case 'overview':
      return printOverview(configFileOf(given));
    case 'help':
      return output.print(line.text);
    case 'core':
      return coreRuns[line.name](line.flags, line.words);
    case 'other':
      return runFromPlugin(line.args);
  }
}

outlive({ logger, places, isServing: () => isServing });

/** How the program ends after an error: with a message for the operator, or, where the error is a bug, with its stack. */
function endOf(thrown: unknown): { readonly code: number; readonly text: string } {
  if (thrown instanceof Exit) return { code: thrown.code, text: thrown.message };
  if (thrown instanceof PortInUse) return { code: 3, text: thrown.message };
  if (thrown instanceof UnusableSocket) return { code: 1, text: thrown.message };
  const isGone = (thrown as NodeJS.ErrnoException | null)?.syscall === 'uv_cwd';
  if (isGone) return { code: 1, text: 'This folder is gone. Change into one that exists.' };
  return { code: 70, text: String(thrown instanceof Error ? thrown.stack : thrown) };
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  const { code, text } = endOf(thrown);
  process.stderr.write(`${printableLines(text)}\n`);
  await tellRefusal(code, text);
  process.exit(code);
}
