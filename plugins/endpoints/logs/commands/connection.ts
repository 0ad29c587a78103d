/** How `logs` and `stats` ask the log API: of the gateway that runs, or, where none answers, of one in this process without a port. */
import type { Config } from '../../../../core/config.ts';
import { Exit } from '../../../../core/exit.ts';
import { version } from '../../../../core/version.ts';

/** Asks the log API. Gives its answer, or throws an Exit with the message of its refusal. */
export type Ask = (path: string, more?: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal }) => Promise<Response>;

export interface Connection {
  readonly ask: Ask;
  /** The address of the running gateway; null: none answers, and this process reads the store. */
  readonly url: string | null;
}

export interface ConnectParts {
  /** Where a running gateway would answer. */
  readonly url: string;
  readonly adminKey: string | null;
  /** Opens the log in this process. */
  openLog(): Promise<{ fetch(request: Request): Promise<Response> }>;
}

/** The address at which the gateway of this config listens. `host` and `port` replace those of the config; null: they do not. */
export function addressOf({ server }: Pick<Config, 'server'>, { host, port }: { readonly host: string | null; readonly port: number | null }): string {
  const listens = host ?? server.host;
  const reachable = listens === '0.0.0.0' ? '127.0.0.1' : listens === '::' ? '::1' : listens;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port ?? server.port}`;
}

const patienceMs = 2000;

export async function connect({ url, adminKey, openLog }: ConnectParts): Promise<Connection> {
  const headers: Record<string, string> = { 'user-agent': `gateway/${version}`, ...(adminKey !== null && { authorization: `Bearer ${adminKey}` }) };
  const askRunning: Ask = async (path, more = {}) => await checked(await fetch(url + path, { ...more, headers: { ...headers, ...more.headers } }));
  if (await answers(url, headers)) return { ask: askRunning, url };
  const log = await openLog();
  const askHere: Ask = async (path, more = {}) => await checked(await log.fetch(new Request(`http://localhost${path}`, { ...more, headers: { ...headers, ...more.headers } })));
  return { ask: askHere, url: null };
}

/** Whether a Model Gateway that keeps a log answers there. */
async function answers(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const signal = AbortSignal.timeout(patienceMs);
  const response = await fetch(`${url}/api/status`, { headers, signal }).catch(() => null);
  if (response === null) return false;
  const body = (await response.json().catch(() => null)) as { version?: unknown; log?: unknown; error?: { message?: unknown } } | null;
  if ((response.status === 401 || response.status === 403) && typeof body?.error?.message === 'string') {
    throw new Exit(1, `The gateway at ${url} does not let this command see its log: ${body.error.message} Its key is server.admin_key of its config, or the file admin-key in its data_dir: does --config name that config, and may this user read the file?`);
  }
  return response.ok && typeof body?.version === 'string' && body.log !== null && body.log !== undefined;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = await response.text();
  throw new Exit(response.status === 503 ? 4 : response.status === 400 ? 2 : 1, messageOf(text) ?? `The gateway answered with ${response.status}.`);
}

function messageOf(text: string): string | null {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return null;
  }
}
