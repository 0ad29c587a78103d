import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';

const startedMs = 1000;
const lookMs = 1000;
/** A thread that is busy for less than this share of the time has no requests that a pause would delay. */
const quiet = 0.1;

/**
 * Collects the garbage of the start of this thread, unless the thread is busy by then.
 * cost: the garbage is 27 MB in the main thread and 3 MB in each other
 * thread. V8 keeps it as long as no request comes. Collecting it takes 60 ms.
 */
export function collectAfterStart(): void {
  setTimeout(() => {
    const started = performance.eventLoopUtilization();
    setTimeout(() => {
      if (performance.eventLoopUtilization(started).utilization < quiet) collect();
    }, lookMs).unref();
  }, startedMs).unref();
}

/** Sets how V8 collects garbage while requests come, in all threads of this process. */
export function collectAsForRequests(): void {
  // cost: V8 collects the old generation when it is four times as large as what survived the last
  // collection. At one and a half times, a process under load takes a third less memory for 1 %
  // more CPU (bench soak). During the start this would cause four collections, which take 100 ms
  v8.setFlagsFromString('--heap-growing-percent=50');
  // V8 writes an error to stderr for a flag that it does not know, and Node 22 and 26 do not know this one
  if (!/^2[45]\./.test(process.versions.node)) return;
  // cost: some seconds after the last request V8 collects garbage in a mode that saves memory: it forgets the
  // shapes of objects that no request holds then, and with them the optimised code of 360 functions. The next 8,000
  // requests took 160 µs of the main thread and 65 µs of V8's other threads, in place of 107 and 8 (bench plain)
  v8.setFlagsFromString('--no-memory-reducer-favors-memory');
}

function collect(): void {
  v8.setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('globalThis.gc') as ((options: { type: 'major'; flavor: 'last-resort' }) => void) | undefined;
  v8.setFlagsFromString('--no-expose-gc');
  // all threads share this flag: another thread may have turned it off in between, and then this thread does not collect
  collectGarbage?.({ type: 'major', flavor: 'last-resort' });
}
