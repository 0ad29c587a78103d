/**
 * Says in the process log when the event loop is held, and by whose code: then no request is served, and no timer of the gateway
 * can say so. A thread looks for signs of life, and asks the debugger of the main thread where it is.
 */
import { url as inspectorUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { Places } from '../places.ts';

export interface WatchdogSettings {
  /** Grows by one at each sign of life. */
  readonly beats: Int32Array;
  readonly places: Places['parts'];
  /** For how long the loop must be held before it is said. */
  readonly patienceMs: number;
}

const beatMs = 250;
const defaultPatienceMs = 5000;
const threadFile = new URL(import.meta.url.endsWith('.ts') ? './watchdog-thread.ts' : './watchdog-thread.js', import.meta.url);

/** Starts the thread, once for a process. Nothing is started where a debugger may stop the process. */
export function watchLoop(places: Places, patienceMs = defaultPatienceMs): void {
  if (inspectorUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref();
  const workerData: WatchdogSettings = { beats, places: places.parts, patienceMs };
  const worker = new Worker(threadFile, { workerData, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 } });
  worker.unref();
  // the gateway serves without it
  worker.on('error', () => {});
}
