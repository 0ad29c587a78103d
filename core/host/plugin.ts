/** What a plugin is, and all that it can reach. Plugins of others import these types from `core/index.ts`. */
import type { CallerKeys } from '../api-key.ts';
import type { Config } from '../config.ts';
import type { ErrorKind } from '../errors.ts';
import type { Command } from './command.ts';
import type { Dialect } from '../wire/dialect.ts';
import type { HealthQuery, HealthReport, Hooks } from '../pipeline/hooks.ts';
import type { SharedRedis } from './redis.ts';
import type { MetricSources } from './metric-sources.ts';
import type { State } from './state.ts';
import type { Tappable } from './taps.ts';
import type { LogAccess } from '../log/store.ts';
import type { Logger } from '../logger.ts';
import type { Routes } from '../http/routes.ts';
import type { SignIns } from '../http/sign-ins.ts';
import type { Peers } from '../workers/peers.ts';
import type { Answered, ParentSide } from '../workers/relay.ts';

/** A feature. One default-exported object per file under `plugins/`, or a file of your own named in the YAML. */
export interface Plugin<Options = never> {
  /** Its path under `plugins/`: `auth/keys`. A plugin of your own takes any `folder/name`. */
  readonly name: string;
  /** One line: what it does. */
  readonly summary: string;
  /** JSON Schema of `with:`, every property described. Absent: it takes no options. */
  readonly schema?: object;
  /** Plugins that must be applied before this one, where they are loaded at all. */
  readonly after?: readonly string[];
  /** Wire formats that it introduces. */
  readonly dialects?: readonly Dialect[];
  /** Fields that it puts on the record in `settle`, by name: the log stores them, filters by them (`field.<name>`) and shows them. */
  readonly fields?: Readonly<Record<string, FieldSpec>>;
  /** Errors of its own that it may throw, made by `defineError`: the metrics and the docs know their codes. */
  readonly errors?: readonly ErrorKind[];
  /** Commands that it adds to the command line: `gateway <name>`. */
  readonly commands?: readonly Command<Options>[];
  /** What `gateway doctor` says of the plugin's part. It serves nothing and changes nothing. */
  checkup?(parts: CheckupParts, options: Options): readonly Finding[] | Promise<readonly Finding[]>;
  /** It keeps the request log: a command that opens the log starts this plugin. */
  readonly keepsLog?: boolean;
  /** Dialect names that it answers for by its own `open` tap, without a wire format (`mock`). */
  readonly serves?: readonly string[];
  /** Taps hooks and adds routes. Synchronous and without I/O: opening things belongs to the `boot` hook. */
  apply(gateway: Gateway, options: Options): void | Teardown;
  /**
   * Runs in the parent of the workers, where `server.workers` is more than 1: for what must be counted in one place. Called for each
   * config. `gateway.peers.atParent` asks the object that it returns. Where one process serves alone, it is never called.
   */
  atParent?(parent: ParentProcess, options: Options): ParentSide;
}

/** What a checkup can look at. */
export interface CheckupParts extends Pick<Gateway, 'config' | 'dialects' | 'logger'> {}

/** One line of `gateway doctor`. */
export interface Finding {
  /** The subject of the finding, in one or two words. */
  readonly part: string;
  /** `note`: neither good nor bad. */
  readonly state: 'good' | 'note' | 'warning' | 'fault';
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

/** What a plugin can reach in the parent of the workers. */
export interface ParentProcess {
  readonly config: Config;
  /** Labelled with the plugin's name. */
  readonly logger: Logger;
  /** Values of this plugin's that outlive a reload. */
  readonly state: State;
  /**
   * Asks the workers what the plugin answers there (`gateway.peers.answer`). Resolves with the answers that came in time.
   * @param except a worker that is not asked
   */
  ask(topic: string, message: unknown, options?: { readonly withinMs?: number; readonly except?: number }): Promise<readonly Answered[]>;
}

/** A field of a plugin's own on the record. */
export interface FieldSpec {
  readonly kind: 'text' | 'number' | 'flag';
  /** One line, for people who see the field in the log. */
  readonly description: string;
}

/** Called once when the gateway closes, in reverse order of `apply`. */
export type Teardown = () => void | Promise<void>;

/** The schema of a plugin that takes no options. */
export const noOptions: object = { type: 'object', additionalProperties: false, properties: {} };

export const definePlugin = <Options>(plugin: Plugin<Options>): Plugin<Options> => plugin;

/** A plugin as the loader hands it on: its options are checked against its schema before `apply` sees them. */
export type AnyPlugin = Plugin<unknown>;

export interface LoadedPlugin {
  readonly plugin: AnyPlugin;
  readonly options: unknown;
  /**
   * The place of its entry in the config file, for example `gateway.config.yaml:36:5`; absent where no list names it.
   * cost: the file is parsed for its places, which takes 90 ms of a start.
   */
  readonly writtenAt?: () => string;
}

/** Counts of the process, over reloads. */
export interface Traffic {
  /** Bytes of the bodies of the requests that are running. */
  readonly bytes: number;
  /** Requests that were refused before the caller was known, by error code. Only a sample of them is on record. */
  readonly refused: ReadonlyMap<string, number>;
  /** Requests for which there was no room, by the limit: of bytes, of requests, or of requests that wait on one connection. */
  readonly overloaded: Readonly<Record<'bytes' | 'requests' | 'connection', number>>;
}

/** All that a plugin can reach. */
export interface Gateway {
  readonly hooks: Tappable<Hooks<Gateway>>;
  readonly dialects: ReadonlyMap<string, Dialect>;
  readonly routes: Routes;
  readonly config: Config;
  /** The request log: read by who shows it, provided by who keeps it. */
  readonly log: LogAccess;
  /** Labelled with the plugin's name. */
  readonly logger: Logger;
  /** Runs the checks of the `health` hook over a first report. */
  readonly checkHealth: (report: HealthReport, query: HealthQuery) => Promise<HealthReport>;
  /** Whether the process is about to stop. It serves requests, and load balancers should send no more. */
  readonly isLeaving: () => boolean;
  /** Values of this plugin's that outlive a reload. */
  readonly state: State;
  /** The Redis that gateways share; null where the config names none. */
  readonly redis: SharedRedis | null;
  /** Milliseconds that each plugin has taken of all requests since this gateway began, by the plugin's name. */
  readonly spentMs: () => ReadonlyMap<string, number>;
  /** The other workers behind the same port; null: this process serves alone (`server.workers: 1`). */
  readonly peers: Peers | null;
  /** Checks admin keys and delays wrong ones: for a plugin that lets people sign in, or that counts the failures. */
  readonly signIns: SignIns;
  /** Callers' keys by name, including those that are kept in the store. */
  readonly keys: CallerKeys;
  /** Codes of all errors that may be thrown: the core's and those that plugins declare. */
  readonly errorCodes: ReadonlySet<string>;
  /** Metrics of its own at `GET /metrics`. */
  readonly metrics: MetricSources;
  /** The requests that the process is serving, and those that it has refused. */
  readonly traffic: () => Traffic;
  readonly fetch: typeof fetch;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}
