/**
 * Sends messages to the webhook, one after the other.
 * safety: the address is a secret, so no error that may quote it is written anywhere.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../../core/logger.ts';
import type { Secret } from '../../../core/secret.ts';
import { postJson } from '../../../core/wire/egress/post.ts';

const patienceMs = 10_000;
/** Pauses before each retry. */
const pausesMs = [1000, 5000, 30_000];
/** The most messages that may wait. Beyond that the oldest is dropped, because a newer one matters more. */
const mostWaiting = 100;

export class Courier {
  #webhook: Secret | null = null;
  #logger: Logger | null = null;
  #fault: string | null = null;
  #isBusy = false;
  readonly #waiting: string[] = [];
  readonly #stopped = new AbortController();

  follow(webhook: Secret | null, logger: Logger): void {
    if (webhook?.reveal() !== this.#webhook?.reveal()) this.#fault = null;
    this.#webhook = webhook;
    this.#logger = logger;
  }

  get state(): { readonly isSet: boolean; readonly fault: string | null } {
    return { isSet: this.#webhook !== null, fault: this.#fault };
  }

  send(message: string): void {
    if (this.#webhook === null) return;
    this.#waiting.push(message);
    if (this.#waiting.length > mostWaiting) this.#waiting.shift();
    if (!this.#isBusy) void this.#bringAll();
  }

  stop(): void {
    this.#waiting.length = 0;
    this.#stopped.abort();
  }

  async #bringAll(): Promise<void> {
    this.#isBusy = true;
    for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) await this.#bring(message);
    this.#isBusy = false;
  }

  async #bring(message: string): Promise<void> {
    for (const pauseMs of [0, ...pausesMs]) {
      if (pauseMs > 0) await pause(pauseMs, undefined, { ref: false, signal: this.#stopped.signal }).catch(() => {});
      if (this.#stopped.signal.aborted || this.#webhook === null) return;
      this.#fault = await this.#post(this.#webhook.reveal(), message);
      if (this.#fault === null) return;
    }
    this.#logger?.warn('a message to the webhook of the alerts could not be sent', { fault: this.#fault, message });
  }

  /** The error of the request; null: it succeeded. */
  async #post(url: string, text: string): Promise<string | null> {
    try {
      const status = await postJson(url, { text }, AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(patienceMs)]));
      return status >= 200 && status < 300 ? null : `it answered ${status}`;
    } catch (thrown) {
      const { name, code } = thrown as NodeJS.ErrnoException;
      return `it cannot be reached (${name === 'TimeoutError' || name === 'AbortError' ? 'no answer in time' : (code ?? name)})`;
    }
  }
}
