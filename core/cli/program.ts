/** The composition root: the one file of the core that looks outside. Command line → config → plugins → gateway → port. */
import { resolve } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import type { Loaded } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { bannerOf } from './banner.ts';
import type { Flags, LogFlags } from './command-line.ts';
import { parseCommand, UsageError } from './command-line.ts';
import { connect } from './commands/connection.ts';
import type { Connection } from './commands/connection.ts';
import { migrateDatabase, showDatabase } from './commands/db.ts';
import type { Database } from './commands/db.ts';
import { createKey } from './commands/keys.ts';
import { showLogs } from './commands/logs.ts';
import type { Output } from './commands/logs.ts';
import { showStats } from './commands/stats.ts';
import type { Config } from '../config.ts';
import { Exit } from './exit.ts';
import { startGateway } from '../host/gateway.ts';
import type { RunningGateway } from '../host/gateway.ts';
import { listen, PortInUse } from '../http/listen.ts';
import { createPluginLoader } from '../host/loader.ts';
import { States } from '../host/state.ts';
import { createLogger } from '../logger.ts';
import type { Write } from '../logger.ts';
import { modelTable } from './model-table.ts';
import { watchConfig } from '../host/reload.ts';
import type { Rebuilt } from '../host/reload.ts';
import { version } from '../version.ts';

type Good = Extract<Loaded, { ok: true }>;

const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));
const toStderr: Write = (line) => void process.stderr.write(`${line}\n`);
const logger = createLogger(toStderr);
/** What plugins keep over reloads. */
const states = new States();

const load = ({ config, host, port }: Flags): Promise<Loaded> =>
  loadConfig(config, { env: process.env, loadPlugin, shippedPlugins, overrides: { ...(host !== null && { host }), ...(port !== null && { port }) } });

async function loadGood(flags: Flags): Promise<Good> {
  const loaded = await load(flags);
  if (!loaded.ok) throw new Exit(1, formatProblems(loaded.problems));
  if (loaded.warnings.length > 0) process.stderr.write(`${formatProblems(loaded.warnings, 'warning')}\n`);
  return loaded;
}

const build = ({ config, plugins }: Pick<Good, 'config' | 'plugins'>): Promise<RunningGateway> => startGateway({ config, plugins, write: toStderr, states });

const startOrExit = (good: Pick<Good, 'config' | 'plugins'>): Promise<RunningGateway> =>
  build(good).catch((error: unknown) => {
    throw new Exit((error as { exitCode?: number }).exitCode ?? 1, error instanceof Error ? error.message : String(error));
  });

async function start(flags: Flags): Promise<void> {
  const readAt = Date.now();
  const loaded = await loadGood(flags);
  const { config } = loaded;
  let current = await startOrExit(loaded);
  const { url, adopt, drain } = await listen({ ...config.server, service: () => current });

  const rebuild = async (): Promise<Rebuilt> => {
    const again = await load(flags);
    if (!again.ok) return { problems: formatProblems(again.problems), files: again.files };
    try {
      return { gateway: await build(again), files: again.files };
    } catch (error) {
      return { problems: error instanceof Error ? error.message : String(error), files: again.files };
    }
  };
  const swap = (next: RunningGateway): RunningGateway => {
    const old = current;
    current = next;
    adopt(next.config.server.limits);
    return old;
  };
  const watching = watchConfig({ logger, files: loaded.files, bound: config.server, rebuild, swap, readAt });

  const stop = async (): Promise<void> => {
    watching.stop();
    const former = [...watching.retiring];
    await drain(current.config.server.limits.drainMs, former);
    await Promise.all([current, ...former].map((gateway) => gateway.close()));
    process.exit(0);
  };
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // the second signal is from somebody who does not want to wait for running streams
      void (stopping ? current.close().finally(() => process.exit(0)) : stop());
      stopping = true;
    });
  }
  process.on('SIGHUP', () => void watching.reload());

  const isText = process.stdout.isTTY && !flags.json;
  process.stdout.write(isText ? bannerOf({ url, config, pages: current.pages, file: resolve(flags.config), startedInMs: performance.now() }) : `${JSON.stringify({ msg: 'listening', url, version })}\n`);
  if (!isText) reportOff(config);
}

/** Providers that are off, said once. */
function reportOff({ providers }: Config): void {
  for (const { id, missing } of providers.values()) if (missing !== null) logger.info(`provider off: ${missing} is not set`, { provider: id });
}

async function check(flags: Flags): Promise<void> {
  const { config } = await loadGood(flags);
  const on = [...config.providers.values()].filter(({ missing }) => missing === null);
  process.stdout.write(`${flags.config} is fine: ${config.models.length} models, ${on.length} of ${config.providers.size} providers on, ${config.plugins.length} plugins\n`);
}

async function models(flags: Flags): Promise<void> {
  const { config } = await loadGood(flags);
  process.stdout.write(flags.json ? `${JSON.stringify(config.models, null, 2)}\n` : modelTable(config));
}

const output: Output = { print: (text) => void process.stdout.write(text), say: (text) => void process.stderr.write(text) };

/** The log of the gateway that runs, or else of the store beside the config. */
async function withLog(flags: LogFlags, work: (connection: Connection) => Promise<void>): Promise<void> {
  const loaded = await loadGood(flags);
  const { host, port, adminKey } = loaded.config.server;
  const here = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${here.includes(':') ? `[${here}]` : here}:${port}`;
  const connection = await connect({ url, adminKey: adminKey?.reveal() ?? null, embedded: () => embedded(loaded) });
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}

/** What keeps the log and what tells of it, with nobody to serve. */
async function embedded({ config, plugins }: Good): Promise<RunningGateway> {
  const server = { ...config.server, host: '127.0.0.1' };
  const teller = { plugin: await loadPlugin('endpoints/logs', import.meta.dirname), options: {} };
  const keepers = plugins.filter(({ plugin }) => plugin.name.startsWith('log/'));
  return await startOrExit({ config: { ...config, server }, plugins: [teller, ...keepers] });
}

async function databaseIn(flags: Flags): Promise<Database> {
  const { config, plugins } = await loadGood(flags);
  const journal = plugins.find(({ plugin }) => plugin.name === 'log/journal');
  if (journal === undefined) throw new Exit(1, `${flags.config} lists no log/journal, so there is no store.`);
  const { store, url = null, retention_days: retentionDays } = journal.options as { store: 'sqlite' | 'postgres'; url?: string; retention_days: number };
  const { databaseOf } = await import('../../plugins/log/journal/store/database.ts');
  return databaseOf({ store, url, dataDir: config.server.dataDir, retentionDays, isDurable: false });
}

/** A fault of the store ends the program with its own code. */
async function orStoreFault(work: Promise<void>): Promise<void> {
  await work.catch((cause: unknown) => {
    throw cause instanceof Exit ? cause : new Exit(4, `The log store cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  });
}

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2));
  switch (command.name) {
    case 'help':
      return output.print(command.text);
    case 'version':
      return output.print(`${version}\n`);
    case 'keys create':
      return createKey(command.flags, output);
    case 'logs':
      return withLog(command.flags, (connection) => showLogs(connection, command.flags, output));
    case 'stats':
      return withLog(command.flags, (connection) => showStats(connection, command.flags, output));
    case 'db status':
      return orStoreFault(showDatabase(await databaseIn(command.flags), command.flags, output));
    case 'db migrate':
      return orStoreFault(migrateDatabase(await databaseIn(command.flags), command.flags, output));
    default:
      return { start, check, models }[command.name](command.flags);
  }
}

// whoever reads may have seen enough: gateway logs | head
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 70));

process.on('uncaughtException', (error) => {
  // listhen binds without waiting for a refusal that comes after its own look at the port
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
    process.stderr.write(`${error.message}. Choose another port: --port N\n`);
    process.exit(3);
  }
  logger.error('a bug ended the gateway', { error, stack: error.stack });
  process.exit(70);
});

try {
  await main();
} catch (thrown) {
  const code = thrown instanceof Exit ? thrown.code : thrown instanceof UsageError ? 2 : thrown instanceof PortInUse ? 3 : 70;
  process.stderr.write(`${code === 70 && thrown instanceof Error ? thrown.stack : (thrown as Error).message}\n`);
  process.exit(code);
}
