/** The result of the last reload of the config. There is one per process: `reload.ts` sets it; the metrics and the dashboard show it. */
export interface LastReload {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Why the changed config is not used; null where it is used. */
  readonly problems: string | null;
}

let last: LastReload | null = null;

/** Null where the config has not changed since the start of the process. */
export const lastReload = (): LastReload | null => last;

/** Null: as at the start of the process. */
export function tellReload(reload: LastReload | null): void {
  last = reload;
}
