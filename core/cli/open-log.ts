/** Opens the request log for a command: starts a gateway in this process, without a port, with as few plugins as possible. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { GatewayParts, RunningGateway } from '../host/gateway.ts';
import type { LoadedPlugin } from '../host/plugin.ts';
import type { LogReader } from '../log/store.ts';

/** Starts a gateway without a port. */
export type StartGateway = (parts: Pick<GatewayParts, 'config' | 'plugins'>) => Promise<RunningGateway>;

interface OpenLogParts {
  readonly config: Config;
  readonly plugins: readonly LoadedPlugin[];
  /** The plugin that brings the command. */
  readonly owner: LoadedPlugin;
  readonly start: StartGateway;
}

/** Starts the plugins that keep the log and the plugin of the command, and no others. */
export async function openLog({ config, plugins, owner, start }: OpenLogParts): Promise<RunningGateway> {
  const gateway = await start({ config, plugins: plugins.filter((loaded) => loaded === owner || loaded.plugin.keepsLog === true) });
  if (gateway.log !== null) await drained(gateway.log);
  return gateway;
}

const drainMs = 2000;
const lookAgainMs = 50;

/** Waits until the store has the records that a killed gateway left in its journal, but no longer than `drainMs`. */
async function drained(log: LogReader): Promise<void> {
  const latest = performance.now() + drainMs;
  while (performance.now() < latest) {
    const { connected, waitingBytes } = await log.status();
    if (!connected || waitingBytes === 0) return;
    await wait(lookAgainMs);
  }
}
