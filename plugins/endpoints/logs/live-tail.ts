/**
 * The live tail of one gateway: a hub for its watchers, which is made when the first watcher
 * comes, and a shared tail, which brings the records of the other workers where there are any.
 */
import type { Gateway } from '../../../core/host/plugin.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { LogRequest } from './answers.ts';
import { Hub } from './hub.ts';
import { SharedTail } from './shared-tail.ts';
import { tailRequests } from './tail.ts';

export class LiveTail {
  #hub: Hub | null = null;
  /** Null: this process serves alone. */
  readonly #shared: SharedTail | null;

  constructor({ log, peers }: Pick<Gateway, 'log' | 'peers'>) {
    const hasWatchers = (): boolean => this.#hub?.hasWatchers === true;
    const heard: Hub['offer'] = (records) => this.#hub?.offer(records);
    this.#shared = peers === null ? null : new SharedTail({ peers, reader: log.reader, hasWatchers, heard });
  }

  /** Called when the log can be read. */
  open(): void {
    this.#shared?.open();
  }

  answer(asked: LogRequest): Promise<Answer> {
    this.#hub ??= new Hub(asked.reader);
    return tailRequests(asked, this.#hub, this.#shared);
  }

  close(): void {
    this.#shared?.close();
    this.#hub?.close();
  }
}
