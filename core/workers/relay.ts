/** The parent's side of `peers.ts`: passes messages from worker to worker, and runs what plugins run in the parent. */
import type { Channel } from './channel.ts';
import { patienceMs } from './channel.ts';
import type { AskedAll, Passed, Sent } from './peers.ts';

/** What a plugin runs in the parent. */
export interface ParentSide {
  /** Answers `peers.atParent` of a worker. The worker gets the error that it throws or rejects with. */
  answer(message: unknown, worker: number): unknown;
  /** Called when a worker has ended, for any reason: releases what the worker held. */
  gone?(worker: number): void;
}

/** A worker that serves, as the relay sees it. */
export interface Peer {
  readonly number: number;
  readonly channel: Channel;
}

/** The answer of one worker. */
export interface Answered {
  readonly worker: number;
  readonly answer: unknown;
}

export class Relay {
  readonly #peers: () => readonly Peer[];
  #sides: ReadonlyMap<string, ParentSide> = new Map();

  /** @param peers the workers that serve now */
  constructor(peers: () => readonly Peer[]) {
    this.#peers = peers;
  }

  /** Sets the parts of plugins that run in the parent, by the plugins' names. They replace the earlier ones. */
  adopt(sides: ReadonlyMap<string, ParentSide>): void {
    this.#sides = sides;
  }

  /** From now on the messages of this worker are passed on. */
  connect({ number: from, channel }: Peer): void {
    channel.on('pass', (value) => {
      const { address, message, to } = value as Sent;
      for (const peer of this.#others(from)) {
        if (to === undefined || peer.number === to) peer.channel.tell('passed', { address, message, from } satisfies Passed);
      }
    });
    channel.on('ask', async (value) => {
      const { address, message, withinMs } = value as AskedAll;
      const answers = await askAll(this.#others(from), { address, message, from }, withinMs);
      return answers.map(({ answer }) => answer);
    });
    channel.on('at parent', (value) => {
      const { address, message } = value as Sent;
      const side = this.#sides.get(address);
      if (side === undefined) throw new Error(`The plugin "${address}" runs nothing in the parent process.`);
      return side.answer(message, from);
    });
  }

  /** A worker has ended. */
  gone(worker: number): void {
    for (const side of this.#sides.values()) side.gone?.(worker);
  }

  /** Asks the workers, for the part of a plugin that runs in the parent. */
  ask(
    plugin: string,
  ): (topic: string, message: unknown, options?: { readonly withinMs?: number; readonly except?: number }) => Promise<readonly Answered[]> {
    return (topic, message, { withinMs = patienceMs, except = 0 } = {}) =>
      askAll(this.#others(except), { address: `${plugin} ${topic}`, message, from: 0 }, withinMs);
  }

  #others(number: number): readonly Peer[] {
    return this.#peers().filter((peer) => peer.number !== number);
  }
}

/** Resolves with the answers that come in time. */
async function askAll(peers: readonly Peer[], passed: Passed, withinMs: number): Promise<readonly Answered[]> {
  const answers = await Promise.all(
    peers.map(({ number, channel }) =>
      channel.call('asked', passed, withinMs).then(
        (answer): Answered | null => ({ worker: number, answer }),
        () => null,
      ),
    ),
  );
  return answers.filter((one) => one !== null);
}
