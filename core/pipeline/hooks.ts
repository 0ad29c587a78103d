/**
 * The hooks: every moment at which a plugin can act (`createHooks`). The class of a hook says what a tap may do:
 * bail decides, waterfall improves, plain observes. Async where a tap may do I/O, sync where I/O would be a fault.
 */
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, SyncHook, SyncWaterfallHook } from 'tapable';
import type { Adjustment, ChatRequest, Chunk } from '../chat.ts';
import type {
  Arrived,
  AttemptResult,
  Authenticated,
  Candidate,
  Described,
  Metadata,
  Normalised,
  Principal,
  Replying,
  RequestRecord,
  Streaming,
} from './context.ts';

/** The next pieces of an answer; null: it has ended. */
export type Pieces = readonly Chunk[] | null;

/** The chunks of one attempt, as they come. */
export interface ChunkSource {
  /** Parameters that could not be sent as the caller set them. */
  readonly adjustments: readonly Adjustment[];
  /** The next pieces (possibly none yet), or null at the end; a promise where they must be waited for. Throws a GatewayError when the answer breaks. */
  read(): Pieces | Promise<Pieces>;
  /** Called when the answer is no longer wanted: closes the connection at once. */
  cancel(): void;
}

/**
 * The source of a plugin that answers in place of a provider: gives these chunks
 * in one read, and then the end. A whole answer ends with a `finish` chunk.
 */
export function sourceOf(chunks: readonly Chunk[]): ChunkSource {
  let isRead = false;
  return {
    adjustments: [],
    read() {
      if (isRead) return null;
      isRead = true;
      return chunks;
    },
    cancel: () => {},
  };
}

export interface HealthCheck {
  readonly connected: boolean;
  /** The error in one or two words. It is public, so it holds no address and no name of a user. */
  readonly error?: string;
}

export interface HealthReport {
  readonly status: 'ok' | 'degraded' | 'error';
  readonly redis: HealthCheck;
  readonly database: HealthCheck;
  /** Checks of plugins, by the name that each gives to its own: `GET /` shows them beside `redis` and `database`. */
  readonly checks?: Readonly<Record<string, HealthCheck>>;
}

const notConfigured: HealthCheck = { connected: false, error: 'not configured' };

/** The report before its checks. */
export const unchecked: HealthReport = { status: 'ok', redis: notConfigured, database: notConfigured };

/** The status of the report with one more check. */
export const statusWith = ({ status }: HealthReport, { connected }: HealthCheck): HealthReport['status'] =>
  connected || status !== 'ok' ? status : 'degraded';

/** The report with one more check, under a name of the plugin's own. A check that fails makes an `ok` gateway `degraded`. */
export const withCheck = (report: HealthReport, name: string, check: HealthCheck): HealthReport => ({
  ...report,
  status: statusWith(report, check),
  checks: { ...report.checks, [name]: check },
});

/** What a dry run answers: where the request would go, and why. */
export interface Explanation {
  readonly object: 'route.explanation';
  /** In the order in which they would be asked; those that are ruled out come last. */
  readonly candidates: readonly ExplainedCandidate[];
  /** The limits and budgets that count for this caller. */
  readonly limits: readonly object[];
}

export interface ExplainedCandidate {
  readonly provider: string;
  readonly model: string;
  readonly externalId: string;
  /** The name of the target: the provider, the number of its key where it has several, and the provider's name for the model. */
  readonly target: string;
  /** Whether it would be asked. */
  readonly standing: boolean;
  /** The plugin that gave the reason, or `core`; null: nobody gave one. */
  readonly by: string | null;
  /** Why the candidate is ruled out, or why it has its position. */
  readonly reason: string | null;
  /**
   * Dollars: the price of the estimated prompt, and of as many answer tokens as
   * the request allows, or 1,024; 0 where no provider is asked. Null: not known.
   */
  readonly estimatedCost: string | null;
}

/** Headers of a reply, lower-case names. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/** What one health request asks: `skip` names checks to leave out. */
export interface HealthQuery {
  readonly skip: ReadonlySet<string>;
}

/** Order of the taps of one hook: the plugins' order in the YAML, unless a plugin knows that it comes first or last. */
export const EARLY = -100;
export const LATE = 100;

/** @typeParam Host what `boot` and `close` hand to a tap: the gateway, whose type belongs to `core/host` */
export function createHooks<Host = unknown>() {
  return {
    boot: new AsyncSeriesHook<[Host]>(['gateway']),
    auth: new AsyncSeriesBailHook<[Arrived], Principal | undefined>(['arrived']),
    metadata: new SyncWaterfallHook<[Metadata, Authenticated], Metadata>(['metadata', 'context']),
    normalise: new AsyncSeriesWaterfallHook<[ChatRequest, Described], ChatRequest>(['request', 'context']),
    route: new AsyncSeriesWaterfallHook<[readonly Candidate[], Normalised], readonly Candidate[]>(['candidates', 'context']),
    explain: new SyncWaterfallHook<[Explanation, Normalised], Explanation>(['explanation', 'context']),
    open: new AsyncSeriesBailHook<[Streaming], ChunkSource | undefined>(['context']),
    opened: new SyncWaterfallHook<[ChunkSource, Streaming], ChunkSource>(['source', 'context']),
    chunk: new SyncWaterfallHook<[Chunk, Streaming], Chunk | null>(['chunk', 'context']),
    attempted: new SyncHook<[AttemptResult, Streaming]>(['result', 'context']),
    reply: new SyncWaterfallHook<[ReplyHeaders, Replying], ReplyHeaders>(['headers', 'context']),
    settle: new SyncWaterfallHook<[RequestRecord, Replying], RequestRecord>(['record', 'context']),
    log: new AsyncParallelHook<[RequestRecord]>(['record']),
    health: new AsyncSeriesWaterfallHook<[HealthReport, HealthQuery], HealthReport>(['report', 'query']),
    close: new AsyncSeriesHook<[Host]>(['gateway']),
  };
}

export type Hooks<Host = unknown> = ReturnType<typeof createHooks<Host>>;

/** A hook whose taps may all answer at once: then the call returns their value, not a promise. */
type AtOnce<Hook> = Hook extends { promise(...args: infer Args): Promise<infer Value> }
  ? { promise(...args: Args): Value | Promise<Value> }
  : Hook;

/** The hooks of a request, without those of the life of the gateway. */
export type RequestHooks = Omit<Hooks, 'boot' | 'close' | 'health' | Asynchronous> & {
  readonly [Name in Asynchronous]: AtOnce<Hooks[Name]>;
};

type Asynchronous = 'auth' | 'normalise' | 'route' | 'open' | 'log';
