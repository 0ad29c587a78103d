/** The reloads of the config. There is one history per process: each reload writes to it, and the metrics and the dashboard show it. */
import type { Config } from '../../config.ts';
import { changesOf } from './changes.ts';
import type { Changes } from './changes.ts';

/** The result of one reload. */
export interface LastReload {
  /** Epoch milliseconds. The same in all workers of a machine. */
  readonly at: number;
  /** Why the changed config is not used; null where it is used. */
  readonly problems: string | null;
}

export interface Reload extends LastReload {
  /** The hash of the config that came into use; null: none did. */
  readonly hash: string | null;
  /** What differs from the config before; null: the config is not used. */
  readonly changes: Changes | null;
}

/** A program that writes its config every minute must not fill the memory. */
const mostKept = 50;

let history: readonly Reload[] = [];

/** Null where the config has not been reloaded since the start of the process. */
export const lastReload = (): LastReload | null => history[0] ?? null;

/** The newest first. */
export const reloads = (): readonly Reload[] => history;

/** Adds a reload; null: empties the history. @param used the config that was in use, and the one that is in use now */
export function tellReload(reload: LastReload | null, used?: { readonly before: Config; readonly after: Config }): void {
  if (reload === null) {
    history = [];
    return;
  }
  const changes = used === undefined ? null : changesOf(used.before, used.after);
  history = [{ ...reload, hash: used?.after.hash ?? null, changes }, ...history].slice(0, mostKept);
}

/** The histories of several processes as one. A worker that has just begun knows nothing of earlier reloads. */
export const mergedReloads = (histories: readonly (readonly Reload[])[]): readonly Reload[] => {
  const known = new Map(histories.flat().map((reload) => [reload.at, reload]));
  return [...known.values()].sort((a, b) => b.at - a.at).slice(0, mostKept);
};
