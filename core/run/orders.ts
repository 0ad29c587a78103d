/** What the parent tells its workers to do, and what they answer. `core/workers/channel.ts` carries it. */
import type { Bound } from '../config.ts';
import type { RunningGateway } from '../host/gateway.ts';

/** The variable of the environment with the number of a worker. */
export const workerVariable = 'GATEWAY_WORKER';

/** What a worker cannot read in the config. It comes with `serve` and `prepare`. */
export interface Known {
  /** Absent at the first start. */
  readonly bound?: Bound;
  /** The certificate that is in use; null: the port is plain, whatever the config says by now. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Admin keys that could not be kept, by directory. */
  readonly adminKeys: readonly (readonly [dataDir: string, key: string])[];
}

/** The answer to `serve`. */
export interface Served {
  /** The hash of the config that the worker read. */
  readonly hash: string;
  readonly pages: RunningGateway['pages'];
}

/** The answer to `serve` of a worker that refuses. */
export interface Refusing {
  /** The exit code for this refusal. */
  readonly code: number;
  readonly reason: string;
}

/** The answer to `prepare`: the changed config is read and its gateway is built, or it is refused. */
export type Prepared = Pick<Served, 'hash'> | { readonly problems: string };
