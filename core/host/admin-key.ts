/**
 * The admin key of a gateway that has callers' keys and no `server.admin_key`: the first start makes one and keeps it in the data
 * directory, and every later start, every process with that directory and the command line find it there.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, constants, copyFileSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdminKey, shortestKey } from '../api-key.ts';
import type { Config } from '../config.ts';
import { giveToOwner, makeFolder } from '../log/folder.ts';
import { isHeaderValue } from '../names.ts';
import { Secret } from '../secret.ts';

/** A key that was made just now. The operator is told once. */
export interface NewAdminKey {
  readonly key: Secret;
  /** The file that keeps it; null: it could not be kept, and ends with this process. */
  readonly file: string | null;
  /** Why the key could not be kept. */
  readonly reason: string | null;
}

interface WithAdminKey {
  readonly config: Config;
  /** Null: the gateway needs no such key, or has one already. */
  readonly made: NewAdminKey | null;
}

/** The file that keeps the key. */
export const adminKeyFile = (dataDir: string): string => join(dataDir, 'admin-key');

/** Whether the admin key is the one in the file. */
export const usesKeptAdminKey = ({ server: { isGuarded, adminKey, adminOpen } }: Config): boolean =>
  isGuarded && adminKey === null && !adminOpen;

const withKey = (config: Config, adminKey: Secret): Config =>
  Object.freeze({ ...config, server: Object.freeze({ ...config.server, adminKey }) });

/** Keys that could not be kept, by directory: a reload must not change them, and all workers must have the same. */
export type UnkeptKeys = Map<string, Secret>;

/** Makes the function that completes each config of one process. It throws where the file holds no key. */
export function createAdminKeys(unkept: UnkeptKeys = new Map()): (config: Config) => WithAdminKey {
  return (config) => {
    if (!usesKeptAdminKey(config)) return { config, made: null };
    const { dataDir } = config.server;
    const known = unkept.get(dataDir) ?? readKept(dataDir);
    if (known !== null) return { config: withKey(config, known), made: null };
    const { key, made } = make(dataDir);
    if (made?.file === null) unkept.set(dataDir, key);
    return { config: withKey(config, key), made };
  };
}

/** The config with the key that a gateway with the same data directory has kept, for a command. It makes none. */
export function withKeptAdminKey(config: Config): Config {
  const kept = usesKeptAdminKey(config) ? readKept(config.server.dataDir) : null;
  return kept === null ? config : withKey(config, kept);
}

/** The key in the file; null: there is no such file, or this user may not read it. */
function readKept(dataDir: string): Secret | null {
  const file = adminKeyFile(dataDir);
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
  // after a power cut a disk may hold null bytes, which nobody can send
  if (text.length < shortestKey || !isHeaderValue(text)) {
    throw new Error(
      `${file} holds no admin key of ${shortestKey} characters or more. Delete the file, and the next start makes a key; or set server.admin_key.`,
    );
  }
  closeToOthers(file);
  return new Secret(text);
}

/** safety: a file that was copied or restored may be readable by everybody. */
function closeToOthers(file: string): void {
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  } catch {
    // the file belongs to another user, who decides its permissions
  }
}

/** Makes a key and keeps it. `made` is null where another process kept a key in the same moment: then that key is used. */
function make(dataDir: string): { key: Secret; made: NewAdminKey | null } {
  const text = createAdminKey();
  const key = new Secret(text);
  const file = adminKeyFile(dataDir);
  const part = `${file}.${randomUUID()}`;
  try {
    makeFolder(dataDir);
    writeFileSync(part, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
    giveToOwner(part);
    place(part, file);
    return { key, made: { key, file, reason: null } };
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const other = isTaken ? readKept(dataDir) : null;
    return other === null
      ? { key, made: { key, file: null, reason: isTaken ? whyUnread(file) : (error as Error).message } }
      : { key: other, made: null };
  } finally {
    removePart(part);
  }
}

function whyUnread(file: string): string {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true ? `${file} is a folder` : `this user cannot read ${file}`;
}

/** safety: link() creates the whole file at once, and only where the file does not exist yet, so that all processes read the same key. */
function place(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // this file system has no links
    copyFileSync(part, file, constants.COPYFILE_EXCL);
  }
}

function removePart(part: string): void {
  try {
    rmSync(part, { force: true });
  } catch {
    // a read-only directory holds no such file
  }
}

/**
 * What the operator reads when a key was made, as plain text: the process
 * log never holds a key. `pages` are the addresses of pages for people.
 */
export function adminKeyText({ key, file, reason }: NewAdminKey, pages: readonly string[]): string {
  const lines = [
    '',
    '  The log, the dashboard and the metrics need the admin key. This key is new, and is printed this one time:',
    '',
    `      ${key.reveal()}`,
    '',
    ...pages.map((page) => `  Sign in with it at ${page}`),
    ...(file === null
      ? [`  It could not be kept (${reason}), so it ends with this process. Set server.admin_key, or make the data directory writable.`]
      : [`  It is kept in ${file}, which only this user can read. server.admin_key in the config replaces it.`]),
    '',
  ];
  return `${lines.join('\n')}\n`;
}
