/** The interface of what the program starts: something that serves a port, in this process alone or with workers. */
import type { Bound, Config } from '../config.ts';
import { Exit, messageOf } from '../exit.ts';
import type { UnkeptKeys } from '../host/admin-key.ts';
import type { GatewayParts, RunningGateway } from '../host/gateway.ts';
import type { Places } from '../host/places.ts';
import type { LoadedPlugin } from '../host/plugin.ts';
import type { ConfigWatch, Rebuilt } from '../host/reload.ts';
import type { Listening } from '../http/listen.ts';
import { isLoopback } from '../wire/address.ts';
import type { Logger } from '../logger.ts';

/** A config that was read, and its plugins. */
export interface Read {
  readonly config: Config;
  readonly plugins: readonly LoadedPlugin[];
  /** All files that it is made of. */
  readonly files: readonly string[];
}

/** A config with faults. */
type Faulty = Extract<Rebuilt, { readonly problems: string }>;

export const isFaulty = (read: Read | Faulty): read is Faulty => 'problems' in read;

/** The other workers, and how long the `boot` of a plugin may take. */
export type Building = Pick<GatewayParts, 'peers' | 'bootMs'>;

/** What the program hands to the part that serves. */
export interface Starting {
  readonly logger: Logger;
  readonly places: Places;
  /** Reads the config. @param bound what the gateway keeps, where it serves already */
  read(bound?: Bound): Promise<Read | Faulty>;
  /** Builds a gateway for a port, with an admin key where it needs one. Throws where a plugin refuses. */
  build(read: Read, how?: Building): Promise<RunningGateway>;
  /** The config with an admin key where it needs one. */
  withAdminKey(config: Config): Config;
  readonly unkeptKeys: UnkeptKeys;
  /**
   * Shows the operator a new admin key, if there is one.
   * @param url the address of the gateway, and the pages for which the key is needed
   */
  tellAdminKey(url: string, pages: RunningGateway['pages']): void;
}

/** The first config of a process, and where it is to listen. */
export interface Beginning {
  readonly read: Read;
  /** Epoch milliseconds just before it was read. */
  readonly readAt: number;
  /** The file descriptor of a socket that is open already; null: the port is to be opened. */
  readonly inherited: number | null;
}

export interface Serving {
  /** The gateway that serves now. */
  current(): Pick<RunningGateway, 'config' | 'pages' | 'leave' | 'close'>;
  readonly listening: Pick<Listening, 'url' | 'fd' | 'leave' | 'drain' | 'handOver'>;
  readonly watching: Pick<ConfigWatch, 'stop' | 'readNow' | 'retiring'>;
}

/**
 * Refuses an address that other machines can reach where there are no keys. The bound address counts, because
 * a name in `server.host` may resolve to any address, and a socket that was open already may have any.
 */
export function refuseOpenPort(address: string, { server: { host, isGuarded } }: Config, inherited: number | null): void {
  const said = inherited === null ? `server.host: ${host} is` : 'The socket that the gateway was given has';
  if (!isGuarded && !isLoopback(address)) {
    throw new Exit(
      1,
      `${said} the address ${address}, where other machines can reach the gateway, and there are no keys. Add \`keys\`, or listen on 127.0.0.1`,
    );
  }
}

/** The exit code of an error: its own, or that of a fault in the config. */
export const codeOf = (error: unknown): number =>
  (error as { exitCode?: number } | null)?.exitCode ?? (error instanceof Exit ? error.code : 1);

/** Ends the program with the exit code and the message of an error. */
export function exit(error: unknown): never {
  throw new Exit(codeOf(error), messageOf(error));
}
