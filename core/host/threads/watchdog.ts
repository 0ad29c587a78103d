/**
 * Reports in the process log when the event loop is blocked, and by which code. A second thread does this, because a blocked main
 * thread serves no request and runs no timer. It watches a counter, and asks the debugger for the stack of the main thread.
 */
import { url as inspectorUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { Places } from '../places.ts';

export interface WatchdogSettings {
  /** The main thread increases this counter while its event loop runs. */
  readonly beats: Int32Array;
  readonly places: Places['parts'];
  /** How long the loop must be blocked before it is reported. */
  readonly patienceMs: number;
  /** The process id of the parent, whose end must end this process too; null: this process has no parent. */
  readonly parent: number | null;
}

const beatMs = 250;
const defaultPatienceMs = 5000;
const threadFile = new URL(import.meta.url.endsWith('.ts') ? './watchdog-thread.ts' : './watchdog-thread.js', import.meta.url);

/**
 * Starts the thread, once for a process. Nothing is started where a debugger may stop the process.
 * @param parent its process id: once the parent has ended, the thread ends this process if its event loop is blocked
 */
export function watchLoop(
  places: Places,
  { patienceMs = defaultPatienceMs, parent = null }: Partial<Pick<WatchdogSettings, 'patienceMs' | 'parent'>> = {},
): void {
  if (inspectorUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref();
  const workerData: WatchdogSettings = { beats, places: places.parts, patienceMs, parent };
  const worker = new Worker(threadFile, {
    workerData,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 },
  });
  worker.unref();
  // the gateway serves without the watchdog
  worker.on('error', () => {});
}
