/**
 * Callers' keys that are kept in the database of the log: the interface
 * between the plugin that keeps them and the plugin that interprets them.
 */

/** One key. The database does not read its `data`. */
export interface KeptKey {
  readonly name: string;
  /** Grows with each change of any key. */
  readonly version: number;
  /** JSON; null: the key was deleted. */
  readonly data: string | null;
}

/**
 * The newest change that a reader knows. A database that was restored from a backup, or was behind when it took over, gives the same
 * versions to other changes, so the time of the change is compared too.
 */
export interface NewestChange {
  readonly version: number;
  /** Epoch milliseconds; null: no event of this version is on the audit list. */
  readonly changedAt: number | null;
}

export const noChange: NewestChange = { version: 0, changedAt: null };

/** What has changed since the newest change that the reader knew. */
export interface KeptChanges extends NewestChange {
  readonly keys: readonly KeptKey[];
  /** True: `keys` has every key that is kept, and not only the changed ones. */
  readonly isWhole: boolean;
}

/** One line of the audit list. */
export interface KeyEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly name: string;
  /** `create`, `change`, `rotate`, `disable`, `enable` or `delete`. */
  readonly action: string;
  /** By what means: `dashboard`, `cli` or `api`. */
  readonly by: string;
  /** The address of the client that asked; null: a command on the gateway's own machine. */
  readonly address: string | null;
  /** JSON: what was set. It holds no key and no hash. */
  readonly details: string;
}

export interface NumberedKeyEvent extends KeyEvent {
  readonly id: number;
}

export interface KeyChange {
  readonly name: string;
  /** The version that the change was made from; 0: there is no such key. */
  readonly from: number;
  readonly data: string | null;
  readonly event: Omit<KeyEvent, 'name'>;
}

export interface KeyEventQuery {
  /** Null: of all keys. */
  readonly name: string | null;
  /** Only those with a lower id; null: the newest. */
  readonly before: number | null;
  readonly limit: number;
}

/** Every call rejects with a GatewayError `keys_unavailable` when the database is away. */
export interface KeyTable {
  /** Identifies the database, so that keys of one database are not taken for those of another. */
  readonly place: string;
  /** cost: called every other second; where nothing has changed, it is one statement with two looks into an index. */
  changes(since: NewestChange): Promise<KeptChanges>;
  /**
   * Writes the key and its line of the audit list together, and gives its new version. Null: somebody else has changed the key meanwhile.
   */
  write(change: KeyChange): Promise<number | null>;
  /** Newest first. */
  events(query: KeyEventQuery): Promise<readonly NumberedKeyEvent[]>;
  /** When each of these keys was last used, in epoch milliseconds, as far as the log reaches back. */
  lastUsed(names: readonly string[]): Promise<Readonly<Record<string, number>>>;
}
