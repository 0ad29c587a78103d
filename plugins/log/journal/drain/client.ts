/**
 * How the request thread reaches the log store: it sends each call to the worker and waits for the answer for a limited time. A
 * call that fails does not disturb the others. The log API, the health check and the commands use it.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { BadQuery } from '../../../../core/log/store.ts';
import type { LogReader, PageOptions, StatsOptions } from '../../../../core/log/store.ts';
import type { Logger } from '../../../../core/logger.ts';
import { plainCalls, readCalls } from './rpc.ts';
import type { CallResult, Ask, Call, OwnCalls, Told, WorkerSettings } from './rpc.ts';
import { MigrationError } from '../store/migrations.ts';
import type { StoreFault } from '../store/store.ts';

/** The store cannot answer now; the same call may succeed later. */
export class StoreUnavailable extends Error {
  readonly fault: StoreFault;

  constructor(fault: StoreFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

export interface StoreClient
  extends Required<Pick<LogReader, (typeof readCalls)[number]>>, Pick<OwnCalls, (typeof plainCalls)[number] | 'ping' | 'endElsewhere'> {
  /** How many records of this gateway are in the store, as far as the worker has said. */
  drained(): number;
  /** Starts the worker. Resolves after the first attempt to open the store, also when that failed; rejects when a migration failed. */
  open(settings: WorkerSettings): Promise<void>;
  /** Gives the worker this time to drain the journal, then ends the worker. True: the store has the whole journal. */
  close(withinMs: number): Promise<boolean>;
}

interface ClientEvents {
  readonly logger: Logger;
  readonly disk: (change: { readonly removed: number; readonly elsewhere: number }) => void;
  /**
   * Called while the folder of this gateway's journal is missing, because somebody has deleted it: again and again until the folder exists.
   */
  readonly gone: () => void;
  /** Called when the store has refused a record. The caller counts, so that no count is lost when the thread ends or is silent. */
  readonly buried: () => void;
}

const queryMs = 10_000;
/**
 * The most reads that the thread works at, unless a request waits for them. SQLite works at one at a time; PostgreSQL has one connection
 * more for reads. The others wait on this side.
 * safety: answers of the thread wait until the request thread takes all of them in one turn of its event loop. Forty pages of large
 * bodies took 600 MB and blocked it for seven seconds, although their clients had left.
 */
const mostReads = { sqlite: 1, postgres: 5 };
/** cost: V8's young generation. Under load, its default of 48 MB adds 140 MB to the process, and 24 MB adds 20 MB, for the same CPU. */
const youngMb = 8;
const backoffMs = { first: 100, most: 5000 };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/** The worker's file beside this one: TypeScript when the sources run, JavaScript when the built package runs. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

export function createClient(events: ClientEvents): StoreClient {
  const calls = createCalls();
  let thread: Thread | null = null;
  const ask = (call: Call, args: readonly unknown[], withinMs = queryMs): Promise<unknown> => {
    const worker = thread?.worker ?? null;
    if (worker === null) return Promise.reject(new StoreUnavailable('refused', 'The log store is not open.'));
    const { id, answer } = calls.begin(withinMs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    worker.postMessage({ id, call, args, until: Date.now() + withinMs } satisfies Ask);
    return answer;
  };
  const asItIs =
    (call: Call) =>
    (...args: unknown[]) =>
      ask(call, args);
  let turn = turns(mostReads.sqlite);
  const reading =
    (call: Call) =>
    async (asked: unknown, page: object = {}): Promise<unknown> => {
      const { signal, isUrgent = call === 'get' || call === 'getJson', ...options }: Partial<PageOptions & StatsOptions> = page;
      const until = Date.now() + queryMs;
      const read = async (): Promise<unknown> => {
        signal?.throwIfAborted();
        const leftMs = until - Date.now();
        if (leftMs <= 0) throw new StoreUnavailable('timeout', `The log store had no time for the read within ${queryMs} ms.`);
        return await ask(call, [asked, options], leftMs);
      };
      return await (isUrgent ? read() : turn(read));
    };
  return {
    async open(settings) {
      turn = turns(mostReads[settings.store]);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      thread = keepRunning(settings, {
        ...events,
        calls,
        opened: (refusal) => (refusal === null ? resolve() : reject(new MigrationError(refusal))),
      });
      await promise;
    },
    async close(withinMs) {
      if (thread === null) return false;
      thread.isClosing = true;
      const isDrained = await ask('finish', [withinMs], withinMs + 1000).catch(() => false);
      if (thread.worker !== null) await ended(thread.worker);
      return isDrained === true;
    },
    ...functionsOf(readCalls, reading),
    ...functionsOf(plainCalls, asItIs),
    drained: () => thread?.drained ?? 0,
    ping: () => ask('ping', [], 500) as Promise<void>,
    endElsewhere: (ids) => ask('endElsewhere', [ids], 500) as Promise<void>,
  };
}

/** A function for each of these calls. */
const functionsOf = <Name extends Call>(names: readonly Name[], make: (call: Call) => unknown): Record<Name, () => never> =>
  Object.fromEntries(names.map((call) => [call, make(call)])) as Record<Name, () => never>;

interface Thread {
  worker: Worker | null;
  /** The client sets it when it closes: a worker that ends is not started again then. */
  isClosing: boolean;
  /** How many records of this gateway are in the store. They are counted on this side, because the worker may fail. */
  drained: number;
}

interface ThreadEvents extends ClientEvents {
  readonly calls: Calls;
  /** Called after the first attempt to open the store; with the reason where a migration failed. */
  readonly opened: (refusal: string | null) => void;
}

/**
 * Starts the worker, and starts it again when it fails, with longer and longer pauses. Records wait in the journal meanwhile; none is lost.
 */
function keepRunning(settings: WorkerSettings, { logger, disk, gone, buried, calls, opened }: ThreadEvents): Thread {
  const thread: Thread = { worker: null, isClosing: false, drained: 0 };
  let crashes = 0;
  const start = (): void => {
    // the options of this Node process may not be allowed for a worker
    const worker = new Worker(workerFile, {
      workerData: settings,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: youngMb },
    });
    thread.worker = worker;
    worker.unref();
    worker.on('message', (told: Told) => {
      if (told.type === 'answer') calls.settle(told.id, told.answer);
      else if (told.type === 'drained') thread.drained += told.records;
      else if (told.type === 'disk') disk(told);
      else if (told.type === 'gone') gone();
      else if (told.type === 'buried') buried();
      else if (told.type === 'log') logger[told.level](told.message, told.facts);
      else {
        crashes = 0;
        opened(told.refusal);
      }
    });
    worker.on('error', (error) => logger.error('the thread of the log store failed; it is started again', { error }));
    worker.on('exit', () => {
      thread.worker = null;
      calls.rejectAll(new StoreUnavailable('refused', 'The thread of the log store has ended.'));
      opened(null);
      const again = (): void => {
        if (!thread.isClosing) start();
      };
      setTimeout(again, Math.min(backoffMs.most, backoffMs.first * 2 ** Math.min(crashes++, 10))).unref();
    });
  };
  start();
  return thread;
}

/** For how long a thread that has answered its last call may take to end. */
const endMs = 1000;

/**
 * safety: a thread that is terminated while it runs or ends can end the process
 * with it (SIGSEGV, nodejs/node#56312), so it has time to end by itself.
 */
async function ended(worker: Worker): Promise<void> {
  // keeps the process alive until the thread has ended
  worker.ref();
  const late = AbortSignal.timeout(endMs);
  await once(worker, 'exit', { signal: late }).catch(() => {});
  if (late.aborted) await worker.terminate();
}

/** Runs a few works at one time. The others wait for their turn, first come, first served. */
function turns(most: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (running === most) await new Promise<void>((resolve) => void waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

type Calls = ReturnType<typeof createCalls>;

/** The calls under way. Each one ends with its answer, when its time is over, or when the worker ends. */
function createCalls() {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  const take = (id: number): Waiting | undefined => {
    const call = waiting.get(id);
    waiting.delete(id);
    clearTimeout(call?.timer);
    return call;
  };
  return {
    begin(withinMs: number): { id: number; answer: Promise<unknown> } {
      const id = ++last;
      const answer = new Promise<unknown>((resolve, reject) => {
        const timer = setTimeout(
          () => take(id)?.reject(new StoreUnavailable('timeout', `The log store did not answer within ${withinMs} ms.`)),
          withinMs,
        );
        waiting.set(id, { resolve, reject, timer });
      });
      return { id, answer };
    },
    settle(id: number, answer: CallResult): void {
      const call = take(id);
      if ('value' in answer) call?.resolve(answer.value);
      else if (answer.fault === 'query') call?.reject(new BadQuery(answer.message, answer.param));
      else call?.reject(new StoreUnavailable(answer.fault, answer.message));
    },
    rejectAll(error: Error): void {
      for (const id of waiting.keys()) take(id)?.reject(error);
    },
  };
}
