/**
 * Messages and calls between the parent and one of its workers, over the channel that Node opens with a child process. Both sides use
 * this class. Values are JSON, so `undefined` and functions do not arrive.
 */
import type { Socket } from 'node:net';
import { timeLimit } from '../cancellation.ts';
import { messageOf } from '../exit.ts';

/** Handles a message. What it returns or resolves to is sent back as the answer, where the other side waits for one. */
type Handler = (value: unknown, socket: Socket | undefined) => unknown;

/** `c`: the number of a call, whose answer comes back as `r` with a value or an error. */
interface Message {
  readonly t?: string;
  readonly v?: unknown;
  readonly c?: number;
  readonly r?: number;
  readonly e?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface End {
  readonly connected: boolean;
  send?(message: object, socket: Socket | undefined, options: object, told: (error: Error | null) => void): boolean;
  on(event: 'message', heard: (message: unknown, socket: unknown) => void): unknown;
  once(event: 'disconnect', heard: () => void): unknown;
}

/** safety: the limit of messages that wait for a process that does not read. More messages are dropped; a call beyond it fails. */
const mostWaiting = 1000;

/** How long a call waits for its answer where the caller sets no time. */
export const patienceMs = 1000;

export class Channel {
  readonly #end: End;
  readonly #handlers = new Map<string, Handler>();
  readonly #calls = new Map<number, Waiting>();
  #lastCall = 0;
  #unsent = 0;
  /** Resolves when the other side has ended, and all of its messages have been handled. */
  readonly whenClosed: Promise<void>;

  /** @param end the child process (a `ChildProcess`); in a worker, its own `process` */
  constructor(end: End) {
    this.#end = end;
    end.on('message', (message, socket) => this.#take(message as Message, socket as Socket | undefined));
    this.whenClosed = new Promise((resolve) => {
      end.once('disconnect', () => {
        for (const id of this.#calls.keys()) this.#settle(id)?.reject(new Error(ended));
        resolve();
      });
    });
  }

  get isOpen(): boolean {
    return this.#end.connected;
  }

  /** Sets the handler for messages and calls of this topic. It replaces an earlier handler. */
  on(topic: string, handler: Handler): void {
    this.#handlers.set(topic, handler);
  }

  /** Sends a message. The message is lost where the other side has ended, or does not read. */
  tell(topic: string, value?: unknown): void {
    this.#send({ t: topic, v: value });
  }

  /** Sends a message that must not be lost, however many wait: an order, or that a connection was taken. */
  assure(topic: string, value?: unknown): void {
    this.#send({ t: topic, v: value }, Infinity);
  }

  /**
   * Hands a connection over. It stays open in this process too: destroy it when the other side has taken it, or hand it to another worker.
   * safety: the kernel closes a connection when no process has it, and a process that is killed may not have read the message.
   */
  give(topic: string, value: unknown, socket: Socket): void {
    if (this.isOpen) this.#end.send?.({ t: topic, v: value }, socket, { keepOpen: true }, () => {});
  }

  /**
   * Sends a message and resolves with its answer. Rejects with the error of the
   * handler, where no answer comes in time, and where the other side has ended.
   */
  call(topic: string, value?: unknown, withinMs = patienceMs): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastCall;
      const lift = timeLimit(withinMs, () =>
        this.#settle(id)?.reject(new Error(`The other process did not answer within ${withinMs} ms.`)),
      );
      const over =
        <Value>(settle: (value: Value) => void) =>
        (result: Value): void => {
          lift();
          settle(result);
        };
      this.#calls.set(id, { resolve: over(resolve), reject: over(reject) });
      if (!this.#send({ t: topic, v: value, c: id })) this.#settle(id)?.reject(new Error(ended));
    });
  }

  #send(message: Message, most = mostWaiting): boolean {
    if (!this.isOpen || this.#unsent >= most) return false;
    // safety: without the callback, Node would throw the error of a process that has just ended
    this.#end.send?.(message, undefined, {}, () => void this.#unsent--);
    this.#unsent++;
    return true;
  }

  #take({ t: topic, v: value, c: call, r: answered, e: error }: Message, socket: Socket | undefined): void {
    if (answered !== undefined) {
      const waiting = this.#settle(answered);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
      return;
    }
    const handler = this.#handlers.get(topic ?? '');
    if (call === undefined) handler?.(value, socket);
    else void this.#answer(call, handler, value);
  }

  async #answer(call: number, handler: Handler | undefined, value: unknown): Promise<void> {
    try {
      if (handler === undefined) throw new Error('The other process has no handler for this call.');
      this.#send({ r: call, v: await handler(value, undefined) });
    } catch (error) {
      this.#send({ r: call, e: messageOf(error) });
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#calls.get(id);
    this.#calls.delete(id);
    return waiting;
  }
}

const ended = 'The other process has ended, or reads no messages.';
