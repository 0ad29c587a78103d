/** Helpers for tests of workers, which are several processes behind one port: a config, requests, process ids. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import type { Agent } from 'node:http';
import { connect } from 'node:net';
import { mockConfig } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';

export const adminKey = 'the-admin-key-of-the-test';
export const admin = { authorization: `Bearer ${adminKey}` };
/** cost: a start of three processes with all plugins takes twice as long, and a journal in each of them a third of the rest. */
const plugins = ['endpoints/chat-completions', 'endpoints/health', 'endpoints/logs', 'auth/keys', 'metadata/headers', 'stream/mock'];
/** Plugins for tests that read records with their cost. */
export const logged = { plugins: [...plugins, 'log/cost', 'log/journal'] };
/** Plugins whose state workers share: targets, limits, metrics. */
export const measured = { plugins: [...logged.plugins, 'route/health', 'route/limits', 'log/metrics', 'log/console'] };
export const config = (server: object = {}, more: object = {}): Record<string, unknown> => ({
  server: { admin_key: `\${ADMIN_KEY_OF_THE_TEST:-${adminKey}}`, workers: 2, ...server },
  ...mockConfig(),
  plugins,
  ...more,
});

export interface Reply {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** Sends a request on a connection of the agent, or else on a new connection. Rejects if the reply breaks off. */
export const ask = (
  url: string,
  { body, headers = {}, agent = false }: { body?: object; headers?: Record<string, string>; agent?: Agent | false } = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        agent,
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      },
      (response) => {
        let text = '';
        response.on('data', (bytes) => (text += bytes));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
export const workersOf = ({ child }: Running): number[] => childrenOf(child.pid ?? 0);
/** Whether the process has the server's end of a connection over 127.0.0.1. `port` is the client's port. */
export function hasConnection(pid: number, port: number): boolean {
  // the third field is the other end's address and port, the tenth one is the socket's inode
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const inode = rows.find(([, , other]) => other === `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`)?.[9];
  return readdirSync(`/proc/${pid}/fd`).some((descriptor) => linkOf(`/proc/${pid}/fd/${descriptor}`) === `socket:[${inode}]`);
}
/** A descriptor may be closed while the folder is read: null. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

/** Starts to listen to the gateway: returns what it has written to stderr since. */
export function newsOf({ output }: Running): () => string {
  const before = output().stderr.length;
  return () => output().stderr.slice(before);
}

export const times = (text: string, part: string): number => text.split(part).length - 1;

/**
 * What tests share: each takes it, and gives it back as it was. A test that fails does not, nor does a test that ends the gateway: the next
 * test, or the next try, begins a new one.
 */
export class Lent<T> {
  readonly #begin: () => Promise<T>;
  #idle: T | null = null;

  constructor(begin: () => Promise<T>) {
    this.#begin = begin;
  }

  async take(): Promise<T> {
    const taken = this.#idle ?? (await this.#begin());
    this.#idle = null;
    return taken;
  }

  giveBack(lent: T): void {
    this.#idle = lent;
  }
}

/** Stops a process as a debugger does. */
export function freeze(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  closeAtEndOfFile({ close: () => isAlive(pid) && process.kill(pid, 'SIGKILL') });
}

/** Whether the port accepts connections, of any process. */
export const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
