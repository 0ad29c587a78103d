/** The messages between the request thread and the worker of the store. */
import type { KeyStore as Keys } from '../store/keys.ts';
import type { StoreStatus } from '../../../../core/log/store.ts';
import type { StoreFault, StoreSettings } from '../store/store.ts';

/** What the worker gets at its start. */
export interface WorkerSettings extends StoreSettings {
  readonly root: string;
  /** The journal of this gateway. */
  readonly folder: string;
}

export const readCalls = ['list', 'exportRows', 'get', 'getJson', 'stats', 'series', 'faults', 'facets', 'metadataKeys'] as const;
/** The calls that the client passes on as they are, with the usual limit of time. */
export const plainCalls = ['state', 'flush', 'forget', 'keyChanges', 'writeKey', 'keyEvents', 'lastUsed'] as const;

/** What can be called beside the read calls of the store. */
export interface OwnCalls {
  keyChanges: Keys['changes'];
  writeKey: Keys['write'];
  keyEvents: Keys['events'];
  lastUsed: Keys['lastUsed'];
  /** Deletes the bodies of a record. False: it had none. */
  forget(id: string): Promise<boolean>;
  /** Rejects where the store does not answer, or did not take the last batch. */
  ping(): Promise<void>;
  state(): Promise<WorkerState>;
  /** Resolves when the store has everything that was in the journal at the time of the call. */
  flush(): Promise<void>;
  /** Names requests whose end is still in the memory of another writer: a journal that ends does not mark them as interrupted. */
  endElsewhere(ids: readonly string[]): Promise<void>;
  /**
   * Call this when the journal is closed: drains the journal for at most
   * this time, then ends the worker. True: the store has the whole journal.
   */
  finish(withinMs: number): Promise<boolean>;
}

export interface WorkerState extends Pick<StoreStatus, 'connected' | 'error' | 'lastDrainAt'> {
  /** Bytes that are in the journals and not in the store yet. */
  readonly depthBytes: number;
}

export type Call = (typeof readCalls)[number] | keyof OwnCalls;

export interface Ask {
  readonly id: number;
  readonly call: Call;
  readonly args: readonly unknown[];
  /** Epoch milliseconds after which the caller does not wait any more. */
  readonly until: number;
}

/** The result of a call. `query`: the question itself is not valid. */
export type CallResult =
  | { readonly value: unknown }
  | { readonly fault: StoreFault; readonly message: string }
  | { readonly fault: 'query'; readonly message: string; readonly param: string | null };

export type Told =
  | { readonly type: 'answer'; readonly id: number; readonly answer: CallResult }
  /** Sent after the first attempt to open the store; `refusal`: the gateway must not start. */
  | { readonly type: 'opened'; readonly refusal: string | null }
  /** The store has taken so many records of this gateway. */
  | { readonly type: 'drained'; readonly records: number }
  /** The store has refused a record. */
  | { readonly type: 'buried' }
  /** The folder of this gateway's journal is missing. Sent again until the folder exists. */
  | { readonly type: 'gone' }
  | { readonly type: 'disk'; readonly removed: number; readonly elsewhere: number }
  | {
      readonly type: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly message: string;
      readonly facts: Readonly<Record<string, unknown>>;
    };
