/** Asks the gateway that runs on this machine. */
import type { Config } from '../config.ts';
import { Exit, exitCodeOf, messageOf } from '../exit.ts';
import type { CommandRun, Output } from '../host/command.ts';
import { fetchRunning } from '../log/fetch-running.ts';
import type { Secret } from '../secret.ts';
import { fieldsOf } from '../wire/fields.ts';
import { runningWith } from './running-files.ts';
import type { RunningProcess } from './running-files.ts';

export interface Running {
  readonly config: Config;
  /** The config file, with its whole path. */
  readonly file: string;
}

/** The gateways that serve with this config on this machine. */
export const allRunning = ({ config, file }: Running): RunningProcess[] =>
  runningWith(config.server.dataDir).filter((one) => one.config === file);

/**
 * The gateway to ask; null: none runs. Each gateway knows only its own targets
 * and limits, so where several run, the output names the one that is asked.
 */
export function runningOf(running: Running, say: Output['say']): RunningProcess | null {
  const all = allRunning(running);
  const [first, ...others] = all.map(({ url, pid }) => `${url} (process ${pid})`);
  if (others.length > 0) say(`${all.length} gateways serve with this config. This command asks ${first}, not ${others.join(', ')}.\n`);
  return all[0] ?? null;
}

/** Makes the function that sends a request to the gateway that serves, with the admin key. */
export function createAskRunning(running: Running, say: Output['say']): CommandRun['askRunning'] {
  const { adminKey, dataDir } = running.config.server;
  let sayOnce = say;
  return async (path, init = {}) => {
    const found = runningOf(running, sayOnce);
    sayOnce = () => {};
    if (found === null) throw new Exit(5, `No gateway serves with ${running.file} and the data directory ${dataDir} on this machine.`);
    return await askGateway({ ...found, adminKey }, path, init);
  };
}

/** Where a gateway is asked, and with which admin key. */
export interface Askable {
  readonly url: string;
  /** The process id, for a gateway that hangs: such a process can only be killed. */
  readonly pid: number;
  readonly adminKey: Secret | null;
  /** What messages call it; absent: by its address. */
  readonly name?: string;
  /** How long an answer may take to begin; half a minute where absent. */
  readonly patienceMs?: number;
}

/** Throws an Exit: code 5 where the gateway does not answer, another code where it refuses. */
export async function askGateway(
  { url, pid, adminKey, name = `The gateway at ${url}`, patienceMs = 30_000 }: Askable,
  path: string,
  init: RequestInit,
): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string> | undefined),
    ...(adminKey !== null && { authorization: `Bearer ${adminKey.reveal()}` }),
  };
  const waiting = new AbortController();
  const late = setTimeout(() => waiting.abort(new Error(`it has said nothing for ${patienceMs / 1000} s`)), patienceMs);
  const signal = init.signal ? AbortSignal.any([init.signal, waiting.signal]) : waiting.signal;
  const response = await fetchRunning(url + path, { ...init, headers, signal })
    .catch((cause: unknown) => {
      // fetch says only that it failed, and its cause says why
      const why = messageOf((cause as Error | null)?.cause ?? cause);
      throw new Exit(5, `${name} (process ${pid}) does not answer: ${why}`, { cause });
    })
    .finally(() => clearTimeout(late));
  if (response.ok) return response;
  const said = ((await response.json().catch(() => null)) as { error?: { message?: string; code?: string } } | null)?.error;
  throw new Exit(exitCodeOf(said?.code), `${name} refused with ${response.status}: ${said?.message ?? 'it did not say why'}`);
}

/** How long to wait for a sign of life. A machine under load may take seconds to answer, and the gateway is not at fault then. */
const lifeSignMs = 5000;

/** Whether anything answers at the address of a gateway. */
export const isAnswering = (url: string): Promise<boolean> =>
  fetchRunning(`${url}/health/live`, { signal: AbortSignal.timeout(lifeSignMs) }).then(
    () => true,
    () => false,
  );

/** The parts that a gateway reports as down, each with its error, such as `database refused`. Empty: there is none, or no plugin reports them. */
export async function partsDown(url: string): Promise<string> {
  const report: unknown = await fetchRunning(url, { signal: AbortSignal.timeout(lifeSignMs) })
    .then((response) => response.json())
    .catch(() => null);
  const { status, ...parts } = fieldsOf(fieldsOf(report)['health']);
  if (status === undefined || status === 'ok') return '';
  return Object.entries(parts)
    .map(([name, check]) => [name, fieldsOf(check)] as const)
    .filter(([, { connected, error }]) => connected === false && error !== 'not configured')
    .map(([name, { error }]) => `${name} ${String(error)}`)
    .join(', ');
}
