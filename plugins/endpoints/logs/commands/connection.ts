/** How `logs` and `stats` ask the log API: at the gateway that runs, or, where none answers, in this process without a port. */
import type { Config } from '../../../../core/config.ts';
import { Exit, exitCodeOf } from '../../../../core/exit.ts';
import type { CommandRun } from '../../../../core/host/command.ts';
import { fetchRunning } from '../../../../core/log/fetch-running.ts';
import type { StoreStatus } from '../../../../core/log/store.ts';
import { version } from '../../../../core/version.ts';
import { inBrackets, isLoopback, withoutBrackets } from '../../../../core/wire/address.ts';

/** Asks the log API. Gives its answer, or throws an Exit with the message of its refusal. */
export type Ask = (
  path: string,
  more?: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal },
) => Promise<Response>;

export interface Connection {
  readonly ask: Ask;
  /** False: no gateway answers, so this process reads the store. */
  readonly isRunning: boolean;
  /** The state of the log as the gateway that runs reported it; null: no gateway answers. */
  readonly status: LogStatus | null;
}

export type LogStatus = Pick<StoreStatus, 'connected' | 'error' | 'waitingRecords' | 'waitingBytes'>;

interface ConnectParts extends Pick<CommandRun, 'askRunning'> {
  /** Null: the gateway that runs with this config is asked, wherever it listens. */
  readonly named: Named | null;
  readonly adminKey: string | null;
  /** Opens the log in this process. */
  openLog(): Promise<{ fetch(request: Request): Promise<Response> }>;
}

/** A gateway that `--host` or `--port` names. */
export interface Named {
  readonly url: string;
  /** False: the gateway is on another machine, whose log is not in the store of this machine. */
  readonly isHere: boolean;
}

/** `host` and `port` replace those of the config; null: neither is given. */
export function namedBy(
  { server }: { readonly server: Pick<Config['server'], 'host' | 'port' | 'tls'> },
  { host, port }: { readonly host: string | null; readonly port: number | null },
): Named {
  // people also write an IPv6 address in brackets, as in a URL
  const listens = withoutBrackets(host ?? server.host);
  const reachable = loopbackOf.get(listens) ?? listens;
  const scheme = server.tls === null ? 'http' : 'https';
  const url = `${scheme}://${inBrackets(reachable)}:${port ?? server.port}`;
  return { url, isHere: host === null || isLoopback(reachable) };
}

/** A gateway that listens at all addresses of the machine is asked at one. */
const loopbackOf: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

const patienceMs = 2000;

/** The exit code where no gateway runs. */
const none = 5;

export async function connect({ named, adminKey, askRunning, openLog }: ConnectParts): Promise<Connection> {
  const agent = { 'user-agent': `gateway/${version}` };
  const headers: Record<string, string> = { ...agent, ...(adminKey !== null && { authorization: `Bearer ${adminKey}` }) };
  const askOwn: Ask = (path, more = {}) => askRunning(path, { ...more, headers: { ...agent, ...more.headers } });
  const status = named === null ? await running(askOwn) : await answering(named, headers);
  if (status !== null && named === null) return { ask: askOwn, isRunning: true, status };
  if (status !== null && named !== null) {
    const askNamed: Ask = async (path, more = {}) =>
      await checked(await fetchOf(named)(`${named.url}${path}`, { ...more, headers: { ...headers, ...more.headers } }));
    return { ask: askNamed, isRunning: true, status };
  }
  const log = await openLog();
  const askHere: Ask = async (path, more = {}) =>
    await checked(await log.fetch(new Request(`http://localhost${path}`, { ...more, headers: { ...headers, ...more.headers } })));
  return { ask: askHere, isRunning: false, status: null };
}

/** The state of the log of the gateway that runs with this config; null: none runs, or it keeps no log. */
async function running(ask: Ask): Promise<LogStatus | null> {
  try {
    const { log } = (await (await ask('/api/status', { signal: AbortSignal.timeout(patienceMs) })).json()) as { log: LogStatus | null };
    return log;
  } catch (error) {
    if (error instanceof Exit && error.code === none) return null;
    throw error;
  }
}

const fetchOf = ({ isHere }: Pick<Named, 'isHere'>): typeof fetchRunning => (isHere ? fetchRunning : fetch);

/** The state of the log of the Model Gateway at this address; null: none answers there, or it keeps no log. */
async function answering({ url, isHere }: Named, headers: Readonly<Record<string, string>>): Promise<LogStatus | null> {
  const signal = AbortSignal.timeout(patienceMs);
  const response = await fetchOf({ isHere })(`${url}/api/status`, { headers, signal }).catch((cause: Error) => {
    if (isHere) return null;
    throw new Exit(none, `The gateway at ${url} does not answer: ${(cause.cause as Error | undefined)?.message ?? cause.message}`, {
      cause,
    });
  });
  if (response === null) return null;
  const body = (await response.json().catch(() => null)) as {
    version?: unknown;
    log?: LogStatus | null;
    error?: { message?: unknown };
  } | null;
  if ((response.status === 401 || response.status === 403) && typeof body?.error?.message === 'string') {
    throw new Exit(
      1,
      `The gateway at ${url} does not let this command see its log: ${body.error.message} Its key is server.admin_key of its config, or the file admin-key in its data_dir: does --config name that config, and may this user read the file?`,
    );
  }
  return response.ok && typeof body?.version === 'string' ? (body.log ?? null) : null;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string; code?: string } };
  throw new Exit(exitCodeOf(error?.code), error?.message ?? `The gateway answered with ${response.status}.`);
}
