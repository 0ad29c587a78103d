/**
 * The thread that owns the store: it drains the journals into the store and answers the calls of the request thread. A store that
 * is down is tried again with longer and longer pauses. Records wait in the journal meanwhile; none is lost.
 */
import { existsSync } from 'node:fs';
import module from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { collectAfterStart } from '../../../../core/host/threads/collect.ts';
import { messageOf } from '../../../../core/exit.ts';
import { BadQuery } from '../../../../core/log/store.ts';
import { Drain } from './drain.ts';
import { lookAtEmptyEveryMs, lookEveryMs, Pace } from './pace.ts';
import { readCalls } from './rpc.ts';
import type { CallResult, Ask, Call, OwnCalls, Told, WorkerSettings, WorkerState } from './rpc.ts';
import { createStore } from '../store/open.ts';
import { faultOf, lacksTables, reasonOf } from '../store/store.ts';
import { MigrationError } from '../store/migrations.ts';
import type { Store, StoreFault } from '../store/store.ts';

const port = parentPort as MessagePort;
const settings = workerData as WorkerSettings;
/** @param moved memory that the request thread takes over, instead of a copy */
const tell = (told: Told, moved: readonly ArrayBuffer[] = []): void => port.postMessage(told, moved);

const openMs = 5000;
const backoffMs = { first: 100, most: 5000 };
/** The pause between two periods that are summed up, and the pause after a failure. */
const rollingMs = 5;
const rollAgainMs = 60_000;

// the store warns about a damaged or missing database itself; Node would print its warnings as plain text into a log of JSON
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) => name !== 'ExperimentalWarning' && tell({ type: 'log', level: 'warn', message, facts: {} }));

const store: Store = await createStore(settings);
const { root, folder, retentionDays } = settings;
const drain = new Drain({
  store,
  root,
  folder,
  retentionDays,
  warn: (message, facts) => tell({ type: 'log', level: 'warn', message, facts }),
  disk: (change) => tell({ type: 'disk', ...change }),
  drained: (records) => tell({ type: 'drained', records }),
  buried: () => tell({ type: 'buried' }),
});

let isOpen = false;
let fault: StoreFault | null = 'refused';
/** `finish` sets it, and the loops check it. */
const phase = { isClosing: false };
let wake = (): void => {};

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });

async function open(): Promise<void> {
  // the gateway does not wait for a long migration: new records wait in the journal
  const late = setTimeout(tell, openMs, { type: 'opened', refusal: null } satisfies Told);
  try {
    await store.open();
    isOpen = true;
    // writes the compiled code of this thread into the cache on disk now: the next start needs it, however this process ends
    module.flushCompileCache();
    tell({ type: 'opened', refusal: null });
  } catch (error) {
    tell({ type: 'opened', refusal: error instanceof MigrationError ? error.message : null });
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Whether the last batch was stored, or there was none. A database that is read-only or full answers, but takes no records. */
let takesRecords = true;

async function step(): Promise<boolean> {
  const isMore = await drain.step();
  takesRecords = true;
  return isMore;
}

/**
 * Drains step by step until nothing is left; throws when the store fails.
 * @param mayRest called after each step: whether the rest may wait
 */
async function work(mayRest: () => boolean): Promise<void> {
  drain.adopt();
  if (!isOpen) await open();
  while (!phase.isClosing && (await step()) && !mayRest()) {
    // lets the thread answer calls while it drains
    await new Promise((resolve) => setImmediate(resolve));
  }
  // a thread that is about to end may not have called the store, so it does not know whether the store answers again
  if (!phase.isClosing) recovered();
}

/** cost: without this, the few records that came during the last batch would get a transaction of their own. */
const nearly = (): boolean => drain.isCaughtUp;
const once = (): boolean => true;

function recovered(): void {
  if (fault !== null && failures > 0) tell({ type: 'log', level: 'info', message: 'the log store answers again', facts: {} });
  fault = null;
  failures = 0;
  toldReasons.clear();
}

let failures = 0;
/** The reasons that were logged. A server that starts again may refuse for another reason than before. */
const toldReasons = new Set<string>();

function failed(error: unknown): number {
  fault = faultOf(error);
  takesRecords = false;
  if (lacksTables(error)) isOpen = false;
  if (!existsSync(folder)) tell({ type: 'gone' });
  sayOnce(error);
  const longest = Math.min(backoffMs.most, backoffMs.first * 2 ** Math.min(failures++, 10));
  return longest * (0.5 + Math.random() / 2);
}

function sayOnce(error: unknown): void {
  const reason = reasonOf(error);
  // messages of one code may hold a file name that changes each time
  const { code = reason } = error as { code?: string };
  if (toldReasons.has(code)) return;
  toldReasons.add(code);
  tell({ type: 'log', level: 'warn', message: 'the log store does not take records; they wait in the journal', facts: { fault, reason } });
}

let turn: Promise<void> = Promise.resolve();

/** How many runs of `work` there are: one that works, and those that wait for it. */
let runs = 0;

/** Runs `work` after the run before it has ended: the loop, reads and `flush` call it. */
function inTurn(mayRest: () => boolean): Promise<void> {
  runs++;
  const next = turn.then(() => work(mayRest)).finally(() => void runs--);
  turn = next.catch(() => {});
  return next;
}

let readAt = -Infinity;

/** Stores records that the pace holds back, before the log is read, where that takes one batch. Frequent reads share one such step. */
async function freshen(): Promise<void> {
  if (runs > 0 || fault !== null || phase.isClosing || performance.now() - readAt < lookEveryMs) return;
  readAt = performance.now();
  await inTurn(once).catch(() => {});
}

/**
 * Sums up periods that are over, while the journal is drained. If it fails, the log still works: the sums are then read from the records.
 */
async function sumUp(): Promise<void> {
  while (!phase.isClosing) {
    let pauseMs = lookAtEmptyEveryMs;
    try {
      if (isOpen && fault === null && (await store.roll())) pauseMs = rollingMs;
    } catch (error) {
      pauseMs = rollAgainMs;
      tell({
        type: 'log',
        level: 'warn',
        message: 'a period that is over could not be summed up; it is tried again later',
        facts: { reason: messageOf(error) },
      });
    }
    await wait(pauseMs, null, { ref: false });
  }
}

async function run(): Promise<void> {
  const pace = new Pace();
  while (!phase.isClosing) {
    let pauseMs = lookEveryMs;
    try {
      const waiting = drain.depthBytes();
      if (waiting === 0) {
        pauseMs = lookAtEmptyEveryMs;
        drain.rest();
      }
      if (!isOpen || fault !== null || pace.isDue(waiting, performance.now())) await inTurn(nearly);
    } catch (error) {
      pauseMs = failed(error);
    }
    if (!phase.isClosing) await sleep(pauseMs);
  }
}

const own: OwnCalls = {
  async ping() {
    if (!isOpen) throw new Unavailable();
    await store.ping();
    if (!takesRecords) throw new Unavailable();
  },
  async state(): Promise<WorkerState> {
    return {
      connected: fault === null,
      error: fault,
      depthBytes: drain.depthBytes(),
      lastDrainAt: drain.lastDrainAt,
    };
  },
  flush: () => inTurn(nearly),
  endElsewhere: async (ids) => drain.endElsewhere(ids),
  async forget(id) {
    // records that wait in a journal would be stored after the deletion
    await inTurn(nearly);
    return await store.forget(id);
  },
  keyChanges: async (since) => await openKeys().changes(since),
  writeKey: async (change) => await openKeys().write(change),
  keyEvents: async (query) => await openKeys().events(query),
  lastUsed: async (names) => await openKeys().lastUsed(names),
  async finish(withinMs) {
    phase.isClosing = true;
    wake();
    const timeUp = new Promise<false>((resolve) => {
      setTimeout(resolve, withinMs, false).unref();
    });
    const finished = turn.then(async () => {
      if (!isOpen) await open();
      await drain.finish();
      return true;
    });
    const isDrained = await Promise.race([finished.catch(() => false), timeUp]);
    drain.close();
    await Promise.race([store.close().catch(() => {}), timeUp]);
    return isDrained;
  },
};

function openKeys(): Store['keyStore'] {
  if (!isOpen) throw new Unavailable();
  return store.keyStore;
}

class Unavailable extends Error {}

function answerOf(call: Call, args: readonly unknown[]): Promise<unknown> {
  if (Object.hasOwn(own, call)) return (own[call as keyof OwnCalls] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
  if (!isOpen) throw new Unavailable();
  if (!(readCalls as readonly string[]).includes(call)) throw new Error(`there is no call "${call}"`);
  return readAnswer(call as (typeof readCalls)[number], args);
}

async function readAnswer(call: (typeof readCalls)[number], args: readonly unknown[]): Promise<unknown> {
  await freshen();
  return await (store[call] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
}

function blameOf(error: unknown): CallResult {
  const message = messageOf(error);
  if (error instanceof BadQuery) return { fault: 'query', message, param: error.param };
  if (error instanceof Unavailable) return { fault: fault ?? 'refused', message: 'The log store is not open yet.' };
  return { fault: faultOf(error), message };
}

async function answer({ id, call, args, until }: Ask): Promise<void> {
  // cost: while SQLite answered a long question, the caller of this call may have stopped waiting
  if (Date.now() > until) return;
  let answered: CallResult;
  try {
    answered = { value: await answerOf(call, args) };
  } catch (error) {
    answered = blameOf(error);
    // without this, a gateway that gets no requests would not make its tables in a database that has replaced the old one
    if (lacksTables(error)) {
      failed(error);
      wake();
    }
  }
  tell({ type: 'answer', id, answer: answered }, memoryOf(answered));
  if (call === 'finish') port.close();
}

const memoryOf = (answered: CallResult): ArrayBuffer[] =>
  'value' in answered && answered.value instanceof Uint8Array ? [answered.value.buffer as ArrayBuffer] : [];

port.on('message', (ask: Ask) => void answer(ask));
void sumUp();
collectAfterStart();
await run();
