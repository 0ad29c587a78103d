#!/usr/bin/env node
/** The composition root: the one file of the core that looks outside. Command line → config → plugins → gateway → port. */
import { resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { Loaded } from '../config/load.ts';
import { formatProblems } from '../config/problems.ts';
import { shippedPlugins } from '../config/shipped-plugins.ts';
import { bannerOf } from './banner.ts';
import type { Flags } from './command-line.ts';
import { parseCommand, UsageError } from './command-line.ts';
import type { Config } from './config.ts';
import { startGateway } from './gateway.ts';
import type { RunningGateway } from './gateway.ts';
import { listen, PortInUse } from './listen.ts';
import { createPluginLoader } from './loader.ts';
import { createLogger } from './logger.ts';
import type { Write } from './logger.ts';
import { modelTable } from './model-table.ts';
import { watchConfig } from './reload.ts';
import type { Rebuilt } from './reload.ts';
import { version } from './version.ts';

type Good = Extract<Loaded, { ok: true }>;

const loadPlugin = createPluginLoader(new URL('../plugins/', import.meta.url));
const toStderr: Write = (line) => void process.stderr.write(`${line}\n`);
const logger = createLogger(toStderr);

/** Ends the program: 1 config, 2 usage, 3 port in use, 4 store. */
class Exit extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const load = ({ config, host, port }: Flags): Promise<Loaded> =>
  loadConfig(config, { env: process.env, loadPlugin, shippedPlugins, overrides: { ...(host !== null && { host }), ...(port !== null && { port }) } });

async function loadGood(flags: Flags): Promise<Good> {
  const loaded = await load(flags);
  if (!loaded.ok) throw new Exit(1, formatProblems(loaded.problems));
  if (loaded.warnings.length > 0) process.stderr.write(`${formatProblems(loaded.warnings, 'warning')}\n`);
  return loaded;
}

const build = ({ config, plugins }: Good): Promise<RunningGateway> => startGateway({ config, plugins, write: toStderr });

async function start(flags: Flags): Promise<void> {
  const begun = performance.now();
  const readAt = Date.now();
  const loaded = await loadGood(flags);
  const { config } = loaded;
  let current = await build(loaded).catch((error: unknown) => {
    throw new Exit((error as { exitCode?: number }).exitCode ?? 1, error instanceof Error ? error.message : String(error));
  });
  const { host, port, limits } = config.server;
  const { url, drain } = await listen({ host, port, limits, service: () => current });

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
    return old;
  };
  const watching = watchConfig({ logger, files: loaded.files, rebuild, swap, readAt });

  const stop = async (): Promise<void> => {
    watching.stop();
    await drain(limits.drainMs);
    await current.close();
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
  process.on('SIGHUP', () => void watching.look());

  const isText = process.stdout.isTTY && !flags.json;
  process.stdout.write(isText ? bannerOf({ url, config, file: resolve(flags.config), startedInMs: performance.now() - begun }) : `${JSON.stringify({ msg: 'listening', url, version })}\n`);
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

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2));
  if (command.name === 'help') process.stdout.write(command.text);
  else if (command.name === 'version') process.stdout.write(`${version}\n`);
  else await { start, check, models }[command.name](command.flags);
}

process.on('uncaughtException', (error) => {
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
