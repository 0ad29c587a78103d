/** How a command asks for the log: of the gateway that runs, or, where none answers, of one in this process without a port. */
import { Exit } from '../exit.ts';
import { version } from '../../version.ts';

/** Asks the log API, and gives back its answer, or throws what it refuses with. */
export type Ask = (path: string, more?: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal }) => Promise<Response>;

export interface Connection {
  readonly ask: Ask;
  /** Where a running gateway answers; null: nobody does, and the store is read from here. */
  readonly url: string | null;
  close(): Promise<void>;
}

export interface Connecting {
  readonly url: string;
  readonly adminKey: string | null;
  /** A gateway without a port. */
  embedded(): Promise<{ fetch(request: Request): Promise<Response>; close(): Promise<void> }>;
}

const lookMs = 2000;

export async function connect({ url, adminKey, embedded }: Connecting): Promise<Connection> {
  const headers: Record<string, string> = { 'user-agent': `gateway/${version}`, ...(adminKey !== null && { authorization: `Bearer ${adminKey}` }) };
  const remote: Ask = async (path, more = {}) => await checked(await fetch(url + path, { ...more, headers: { ...headers, ...more.headers } }));
  if (await answers(url, headers)) return { ask: remote, url, close: async () => {} };
  const gateway = await embedded();
  const local: Ask = async (path, more = {}) => await checked(await gateway.fetch(new Request(`http://localhost${path}`, { ...more, headers: { ...headers, ...more.headers } })));
  await drained(local);
  return { ask: local, url: null, close: () => gateway.close() };
}

const drainMs = 2000;

/** What a gateway left behind that was killed is taken into the store first, as far as a short while goes. */
async function drained(ask: Ask): Promise<void> {
  const latest = performance.now() + drainMs;
  while (performance.now() < latest) {
    const { log } = (await (await ask('/api/status')).json()) as { log: { connected: boolean; waitingBytes: number } | null };
    if (log === null || !log.connected || log.waitingBytes === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether a gateway of ours with a log is there. */
async function answers(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const signal = AbortSignal.timeout(lookMs);
  const response = await fetch(`${url}/api/status`, { headers, signal }).catch(() => null);
  if (response === null) return false;
  const body = (await response.json().catch(() => null)) as { version?: unknown; log?: unknown; error?: { message?: unknown } } | null;
  if ((response.status === 401 || response.status === 403) && typeof body?.error?.message === 'string') {
    throw new Exit(1, `The gateway at ${url} does not let this command see its log: ${body.error.message} Is its config another one? See --config.`);
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
