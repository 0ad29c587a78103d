/** `gateway restart`: asks the gateway that runs to start the next process and hand over its port, and says how that went. */
import { setTimeout as wait } from 'node:timers/promises';
import { Exit, UsageError } from '../exit.ts';
import type { Output } from '../host/command.ts';
import { isAnswering } from './ask-running.ts';
import { runningWith } from './running-files.ts';
import type { RunningProcess } from './running-files.ts';

/** The signal that asks a gateway for a restart. */
export const restartSignal = 'SIGUSR2';
/** How long the command waits: longer than a gateway waits for the next process. */
const patienceMs = 70_000;
/**
 * After this time without news, the command checks that the gateway answers at all.
 * With the time of that check the wait is half a minute, as for other commands.
 */
const silenceMs = 25_000;

interface Asked {
  readonly dataDir: string;
  /** The config file, with its whole path. */
  readonly config: string;
  /** The process id that the command line names; null: none. */
  readonly pid: number | null;
}

type Patience = Readonly<Record<'silenceMs' | 'patienceMs', number>>;

/**
 * Resolves when the next process serves. Throws an Exit where there is none
 * to restart (5), or with the code of the process that refuses to serve.
 */
export async function restart(asked: Asked, { print }: Output, patience: Patience = { silenceMs, patienceMs }): Promise<void> {
  const old = find(asked);
  signal(old);
  const next = await successorOf(old, asked.dataDir, patience);
  if (next === null) {
    return print(
      `another process serves at ${old.url}; process ${old.pid} takes no more connections and ends after its running requests\nthe id of the new process is not known, because the new process could not write into ${asked.dataDir}/running. Until it can, other commands do not find it; gateway doctor looks at the disk\n`,
    );
  }
  print(`process ${next.pid} serves at ${next.url}; process ${old.pid} takes no more connections and ends after its running requests\n`);
}

function find({ dataDir, config, pid }: Asked): RunningProcess {
  const all = runningWith(dataDir).filter((one) => one.config === config);
  const found = pid === null ? all : all.filter((one) => one.pid === pid);
  const [first] = found;
  if (first === undefined) {
    throw new Exit(
      5,
      `There is no gateway to restart: none serves with ${config} and the data directory ${dataDir}${pid === null ? '' : ` as process ${pid}`}.`,
    );
  }
  if (found.length > 1) {
    throw new UsageError(
      `${found.length} gateways serve with ${config}. Say which one to restart: ${found.map((one) => `--pid ${one.pid} (${one.url})`).join(', ')}`,
    );
  }
  return first;
}

function signal({ pid }: RunningProcess): void {
  try {
    process.kill(pid, restartSignal);
  } catch (cause) {
    throw new Exit(5, `The gateway cannot be asked to restart: process ${pid}: ${(cause as Error).message}`, { cause });
  }
}

/** The next process; null where it serves and could not write its file. */
async function successorOf(old: RunningProcess, dataDir: string, patience: Patience): Promise<RunningProcess | null> {
  const begun = performance.now();
  let isKnownToAnswer = false;
  for (let waited = 0; waited < patience.patienceMs; waited = performance.now() - begun) {
    await wait(50);
    const now = runningWith(dataDir).find(({ pid }) => pid === old.pid);
    // safety: the next process is looked for after the old one, because the next one
    // is listed before the old one is removed. In the other order both could be missed
    const next = runningWith(dataDir).find(({ follows, config }) => follows === old.pid && config === old.config);
    if (next !== undefined && now === undefined) return next;
    const refused = now?.refused ?? null;
    if (refused !== null && refused.count !== (old.refused?.count ?? 0)) {
      throw new Exit(refused.code, `The gateway is not restarted; process ${old.pid} keeps serving. ${refused.reason}`);
    }
    if (now === undefined) {
      if (await isAnswering(old.url)) return null;
      throw new Exit(5, `The gateway with the process id ${old.pid} has ended, and no other process has taken its place.`);
    }
    if (isKnownToAnswer || waited < patience.silenceMs) continue;
    isKnownToAnswer = await isAnswering(old.url);
    if (!isKnownToAnswer) {
      throw new Exit(
        5,
        `The gateway at ${old.url} does not answer, and process ${old.pid} does not report how its restart goes. ${remedy(old)}`,
      );
    }
  }
  throw new Exit(
    5,
    `The gateway at ${old.url} did not report the result of its restart within ${patience.patienceMs / 1000} s; process ${old.pid} may still serve. ${remedy(old)}`,
  );
}

const remedy = ({ pid }: RunningProcess): string => `See its output; if it hangs, run kill -9 ${pid} and start it again.`;
