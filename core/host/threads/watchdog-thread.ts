/** The thread of the watchdog. It writes to the process log itself, because the main thread cannot write while it is blocked. */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import { collectAfterStart } from './collect.ts';
import { createLogger } from '../../logger.ts';
import { Places } from '../places.ts';
import type { WatchdogSettings } from './watchdog.ts';

const { beats, places: parts, patienceMs, parent } = workerData as WatchdogSettings;
const places = new Places(...parts);
const logger = createLogger((line) => void writeSync(2, `${line}\n`));

const lookEveryMs = Math.min(1000, patienceMs / 2);
/** A loop that stays blocked is reported again after this time. */
const againMs = 60_000;
const mostFrames = 6;

let last = -1;
let heldMs = 0;
let sayAt = patienceMs;

function look(): void {
  const beat = Atomics.load(beats, 0);
  if (beat === last) {
    heldMs += lookEveryMs;
    if (heldMs >= patienceMs && parent !== null && process.ppid !== parent) end();
    if (heldMs >= sayAt) reportStack();
    return;
  }
  if (sayAt > patienceMs) logger.info('the event loop runs again', { heldMs });
  last = beat;
  heldMs = 0;
  sayAt = patienceMs;
}

/**
 * safety: the main thread is blocked and cannot notice that the parent has ended. Without this call the process would use a core for ever.
 */
function end(): void {
  logger.error('the event loop of this worker is blocked and its parent has ended, so the worker ends now', { heldMs });
  process.kill(process.pid, 'SIGKILL');
}

/** Asks the debugger for the stack of the main thread, and lets the main thread go on. */
function reportStack(): void {
  const forMs = heldMs;
  sayAt = heldMs + againMs;
  const session = new Session();
  session.connectToMainThread();
  const files = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => void files.set(scriptId, url));
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    session.post('Debugger.resume');
    session.disconnect();
    say(
      forMs,
      callFrames.map(({ functionName, location: { scriptId, lineNumber } }) => ({
        name: functionName || '(anonymous)',
        file: files.get(scriptId) ?? '',
        line: lineNumber + 1,
      })),
    );
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

interface Frame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

/** @param frames the innermost frame first */
function say(forMs: number, frames: readonly Frame[]): void {
  const plugin = frames.map(({ file }) => places.pluginOf(file)).find((name) => name !== null) ?? null;
  const at = frames.slice(0, mostFrames).map(({ name, file, line }) => `${name} ${file}:${line}`);
  logger.error(`the event loop is blocked${plugin === null ? '' : ` by the plugin ${plugin}`}; no request is served meanwhile`, {
    plugin,
    heldMs: forMs,
    at,
  });
}

setInterval(look, lookEveryMs);
collectAfterStart();
