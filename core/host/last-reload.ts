/** What became of the last change of the config: said by who watches the files, shown by who describes what runs. One of each process. */
export interface LastReload {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Why the change is not used; null: it is. */
  readonly problems: string | null;
}

let last: LastReload | null = null;

/** Null: the config has not changed since the start. */
export const lastReload = (): LastReload | null => last;

export function tellReload(reload: LastReload): void {
  last = reload;
}
