/** The keys of the store in one gateway: read at `boot`, again when they change, and given to all who know keys by name or by hash. */
import { within } from '../../../core/cancellation.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import type { KeyTable } from '../../../core/log/keys.ts';
import type { Holders } from './holders.ts';
import { KeptKeys } from './kept.ts';
import type { Changed } from './kept.ts';
import { Poll } from './poll.ts';

/** How long the start waits for the keys of the store. */
const openMs = 1500;
const sameName = 'a key of the store has the name of a key of the config, so it is not used; delete it, or rename the key of the config';

interface StoreKeysParts extends Pick<Gateway, 'log' | 'keys' | 'state' | 'logger'> {
  readonly holders: Holders;
}

export class StoreKeys {
  readonly #parts: StoreKeysParts;
  readonly #poll: Poll;
  #kept = new KeptKeys();
  /** Whether this gateway has a store that keeps keys. */
  #isThere = false;
  #unfollow: () => void = () => {};

  constructor(parts: StoreKeysParts) {
    this.#parts = parts;
    this.#poll = new Poll(() => this.#kept.refresh(this.table()), parts.logger);
  }

  get kept(): KeptKeys {
    return this.#kept;
  }

  /** True: the store may have keys that this process does not know, because it could not read them yet. */
  get isUnread(): boolean {
    return this.#isThere && !this.#kept.isRead;
  }

  /** Throws where no plugin keeps keys. */
  table(): KeyTable {
    const table = this.#parts.log.reader()?.keys;
    if (table !== undefined) return table;
    const why = 'This gateway keeps no keys: no plugin that does, such as log/journal, is listed in its config.';
    throw new GatewayError('keys_unavailable', why);
  }

  /** Reads the keys, waits for them for a limited time, and then looks for changes regularly. Called when the log is open. */
  async open(): Promise<void> {
    const table = this.#parts.log.reader()?.keys;
    if (table === undefined) return;
    this.#kept = this.#parts.state(`keys of ${table.place}`, () => new KeptKeys());
    this.#isThere = true;
    this.#unfollow = this.#kept.follow((changed) => this.#take(changed));
    await within(this.#poll.now(), openMs, undefined);
    this.#poll.start();
  }

  /** Looks for changes at once. Never rejects. */
  readAgain(): Promise<void> {
    return this.#poll.now();
  }

  /** Ends the regular look for changes. */
  stopReading(): void {
    this.#poll.stop();
  }

  close(): void {
    this.#unfollow();
  }

  #take(changed: Changed): void {
    const { holders, keys, logger } = this.#parts;
    for (const [key, entry] of changed) if (entry !== null && keys.isWritten(key)) logger.warn(sameName, { key });
    holders.take(new Map(Array.from(changed, ([name, entry]) => [name, keys.isWritten(name) ? null : entry])));
    keys.bring(changed);
  }
}
