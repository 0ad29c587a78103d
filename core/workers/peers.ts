/**
 * The other workers of this machine, as plugins of one worker see them (`gateway.peers`). All messages go through the parent
 * (`relay.ts`).
 */
import type { Channel } from './channel.ts';
import { patienceMs } from './channel.ts';

/** The other processes that serve the same port, as one plugin sees them. Topics are the plugin's own. Messages are JSON. */
export interface Peers {
  /** The number of this worker, from 1 on. A worker that replaces a dead one gets its number. */
  readonly number: number;
  /** Sends a message to every other worker. A worker that does not keep up may miss it. */
  broadcast(topic: string, message: unknown): void;
  /** Sends a message to one of them. */
  tell(worker: number, topic: string, message: unknown): void;
  /** Calls back with the messages of a topic. Returns the function that ends the calls; the end of the gateway ends them too. */
  on(topic: string, listener: (message: unknown, from: number) => void): () => void;
  /**
   * Asks every other worker. Resolves with the answers that came within `withinMs` milliseconds, 1,000 where absent. Never rejects.
   */
  ask(topic: string, message: unknown, withinMs?: number): Promise<readonly unknown[]>;
  /**
   * Answers `ask` of other workers. The gateway in use answers; a gateway that is
   * only built answers where the one in use has no answer for this topic.
   */
  answer(topic: string, answer: (message: unknown, from: number) => unknown): void;
  /** Asks what the plugin runs in the parent (`Plugin.atParent`). Rejects with its error, and where no answer comes in time. */
  atParent(message: unknown, withinMs?: number): Promise<unknown>;
}

/** A message that goes through the parent. `plugin topic` is the address. */
export interface Passed {
  readonly address: string;
  readonly message: unknown;
  /** The worker that sent the message. */
  readonly from: number;
}

export interface Sent extends Omit<Passed, 'from'> {
  /** Absent: every other worker. */
  readonly to?: number;
}

export interface AskedAll extends Sent {
  readonly withinMs: number;
}

type Listener = Parameters<Peers['on']>[1];

/** Whether gateways are in use, or only built. */
interface Use {
  isInUse: boolean;
}

interface Answering {
  readonly answer: Parameters<Peers['answer']>[1];
  readonly by: Use;
}

/** The peers of the plugins of one gateway. */
interface GatewayPeers {
  of(plugin: string): Peers;
  /** Ends all that the plugins listen to. */
  release(): void;
}

/** One object for each worker process. */
export class WorkerPeers {
  readonly #channel: Channel;
  readonly #number: number;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The newest gateway last. */
  readonly #answerers = new Map<string, Answering[]>();
  /** The gateways that are built and not in use yet. */
  #built: Use = { isInUse: false };

  constructor(channel: Channel, number: number) {
    this.#channel = channel;
    this.#number = number;
    channel.on('passed', (value) => {
      const { address, message, from } = value as Passed;
      for (const listener of this.#listeners.get(address) ?? []) listener(message, from);
    });
    channel.on('asked', (value) => {
      const { address, message, from } = value as Passed;
      const answering = this.#answerers.get(address);
      // safety: a gateway that is only built may be refused, and may count from 0
      const newest = answering?.findLast(({ by }) => by.isInUse) ?? answering?.at(-1);
      if (newest === undefined) throw new Error('No plugin of this worker answers this topic.');
      return newest.answer(message, from);
    });
  }

  /** From now on the gateways that are built are in use. */
  use(): void {
    this.#built.isInUse = true;
    this.#built = { isInUse: false };
  }

  /** The peers of one gateway: call `release` when the gateway closes. */
  forGateway(): GatewayPeers {
    const ends: (() => void)[] = [];
    const by = this.#built;
    return {
      of: (plugin) => this.#of(plugin, { ends, by }),
      release: () => {
        for (const end of ends.splice(0)) end();
      },
    };
  }

  #of(plugin: string, { ends, by }: { readonly ends: (() => void)[]; readonly by: Use }): Peers {
    const channel = this.#channel;
    const addressOf = (topic: string): string => `${plugin} ${topic}`;
    return {
      number: this.#number,
      broadcast: (topic, message) => channel.tell('pass', { address: addressOf(topic), message } satisfies Sent),
      tell: (to, topic, message) => channel.tell('pass', { address: addressOf(topic), message, to } satisfies Sent),
      on: (topic, listener) => {
        const end = this.#listen(addressOf(topic), listener);
        ends.push(end);
        return end;
      },
      // the parent's own limit is shorter, so that one late worker does not cost the answers of the others
      ask: async (topic, message, withinMs = patienceMs) =>
        (await channel
          .call('ask', { address: addressOf(topic), message, withinMs } satisfies AskedAll, withinMs + 500)
          .catch(() => [])) as readonly unknown[],
      answer: (topic, answer) => void ends.push(this.#answer(addressOf(topic), { answer, by })),
      atParent: (message, withinMs) => channel.call('at parent', { address: plugin, message } satisfies Sent, withinMs),
    };
  }

  #listen(address: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(address) ?? new Set();
    this.#listeners.set(address, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  #answer(address: string, one: Answering): () => void {
    const answerers = this.#answerers.get(address) ?? [];
    this.#answerers.set(address, answerers);
    answerers.push(one);
    return () => void (answerers.includes(one) && answerers.splice(answerers.indexOf(one), 1));
  }
}
