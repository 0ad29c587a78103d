/** What the request thread and the store's worker say to each other. */
import type { StoreStatus } from '../../../../core/log/store.ts';
import type { StoreFault, StoreSettings } from '../store/store.ts';

/** What the worker is started with. */
export interface WorkerSettings extends StoreSettings {
  readonly root: string;
  /** The journal of this gateway. */
  readonly folder: string;
}

export const readCalls = ['list', 'exportRows', 'get', 'stats', 'series', 'facets', 'metadataKeys'] as const;

/** Calls: the read side of the store, and these. */
export interface OwnCalls {
  ping(): Promise<void>;
  state(): Promise<WorkerState>;
  /** Resolves when the store has all that was in the journal at the time of the call. */
  flush(): Promise<void>;
  /** The journal is closed: drains it, as far as the time goes, and ends. True: the store has all of it. */
  finish(withinMs: number): Promise<boolean>;
}

export interface WorkerState extends Pick<StoreStatus, 'connected' | 'error' | 'deadLettered' | 'lastDrainAt'> {
  /** In the journals, and not in the store yet. */
  readonly depthBytes: number;
  readonly drained: number;
}

export type Call = (typeof readCalls)[number] | keyof OwnCalls;

export interface Ask {
  readonly id: number;
  readonly call: Call;
  readonly args: readonly unknown[];
  /** Epoch milliseconds from which on nobody waits for it. */
  readonly until: number;
}

/** What came of a call. `query`: the caller asked something that cannot be answered. */
export type Answer = { readonly value: unknown } | { readonly fault: StoreFault | 'query'; readonly message: string };

export type Told =
  | { readonly type: 'answer'; readonly id: number; readonly answer: Answer }
  /** After the first attempt to open the store; `refusal`: the gateway is not to start. */
  | { readonly type: 'opened'; readonly refusal: string | null }
  | { readonly type: 'disk'; readonly removed: number; readonly elsewhere: number }
  | { readonly type: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly message: string; readonly facts: Readonly<Record<string, unknown>> };
