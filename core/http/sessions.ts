/**
 * The sessions of browsers that have shown the admin key. The cookie holds a number, the time of its end, and a signature made with
 * the admin key: every process with that key knows the session without a table, and another key ends it. Only the sessions that were
 * ended before their time are kept.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../log/folder.ts';
import { isSame } from '../secret.ts';
import type { Secret } from '../secret.ts';

/** How long a session lasts. */
export const sessionMs = 12 * 3_600_000;

export interface Session {
  /** The value of the cookie. */
  readonly value: string;
  readonly id: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** A new session that ends at this time. */
export const newSession = (adminKey: Secret, expiresAt: number): Session => signed(adminKey, randomBytes(16).toString('hex'), expiresAt);

/** The session of a cookie's value; null where the value was not signed with this key, or the session's time is over. */
export function readSession(value: string, { adminKey, now }: { adminKey: Secret; now: number }): Session | null {
  const [, expires, id] = /^(\d{1,15})\.([0-9a-f]{32})\.[\w-]{43}$/.exec(value) ?? [];
  if (expires === undefined || id === undefined) return null;
  const session = signed(adminKey, id, Number(expires));
  return isSame(value, session.value) && session.expiresAt > now ? session : null;
}

function signed(adminKey: Secret, id: string, expiresAt: number): Session {
  const signature = createHmac('sha256', adminKey.reveal()).update(`admin session ${expiresAt} ${id}`).digest('base64url');
  return { value: `${expiresAt}.${id}.${signature}`, id, expiresAt };
}

/**
 * How often sessions whose time is over are forgotten.
 * cost: a look at each file at each sign-out took 18 s of the event loop for 2,500 sign-outs.
 */
const sweepMs = 3_600_000;

/** A session that was ended before its time. */
export type Ended = Pick<Session, 'id' | 'expiresAt'>;

/**
 * Sessions that were ended before their time. Each is an empty file in the data directory too, so that a restart does not bring it
 * back, and so that other processes with the same directory know it. Where the directory cannot be written, this process alone knows.
 */
export class EndedSessions {
  readonly #known = new Map<string, number>();
  readonly #tell: (ended: Ended) => void;
  #sweptAt = -Infinity;

  /** @param tell tells other processes that do not read the directory at once, or have none */
  constructor(tell: (ended: Ended) => void) {
    this.#tell = tell;
  }

  add({ id, expiresAt }: Session, { dataDir, now }: { dataDir: string; now: number }): void {
    const isDue = now - this.#sweptAt >= sweepMs;
    if (isDue) {
      this.#sweptAt = now;
      for (const [other, until] of this.#known) if (until < now) this.#known.delete(other);
    }
    this.learn({ id, expiresAt });
    this.#tell({ id, expiresAt });
    // the plugin that keeps data creates the directory; a gateway that keeps no data must not create it
    if (!existsSync(dataDir)) return;
    const folder = folderIn(dataDir);
    try {
      makeFolder(folder);
      writeFileSync(join(folder, id), '', { mode: 0o600 });
      // safety: it throws where another process has just removed a file, and the end of this session must be on the disk all the same
      if (isDue) sweep(folder);
    } catch {
      // this process knows that the session has ended; a read-only directory is no reason to refuse the sign-out
    }
  }

  /** Remembers a session that was ended, in this process or in another process, which reports it. */
  learn({ id, expiresAt }: Ended): void {
    this.#known.set(id, expiresAt);
  }

  has({ id }: Session, dataDir: string): boolean {
    return this.#known.has(id) || existsSync(join(folderIn(dataDir), id));
  }
}

function sweep(folder: string): void {
  for (const file of readdirSync(folder)) {
    if (statSync(join(folder, file)).mtimeMs < Date.now() - sessionMs) rmSync(join(folder, file), { force: true });
  }
}

const folderIn = (dataDir: string): string => join(dataDir, 'signed-out');
