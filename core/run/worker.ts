/**
 * One of the processes that serve a port together (`server.workers`). Its parent hands it connections, tells it when to take over a
 * changed config and when to end. It watches no file, and opens no port.
 */
import type { Socket } from 'node:net';
import { messageOf } from '../exit.ts';
import type { RunningGateway } from '../host/gateway.ts';
import { tellReload } from '../host/reloads/history.ts';
import type { LastReload } from '../host/reloads/history.ts';
import { reloadBootMs, retire } from '../host/reload.ts';
import { watchLoop } from '../host/threads/watchdog.ts';
import { listen } from '../http/listen.ts';
import type { Listening } from '../http/listen.ts';
import { Secret } from '../secret.ts';
import { Channel } from '../workers/channel.ts';
import { WorkerPeers } from '../workers/peers.ts';
import { workerVariable } from './orders.ts';
import type { Known, Prepared, Refusing, Served } from './orders.ts';
import { codeOf, isFaulty } from './serving.ts';
import type { Building, Starting } from './serving.ts';

/** The number of this worker; null: this process is not a worker. Reads the environment, once. */
export function numberOfWorker(): number | null {
  const text = process.env[workerVariable];
  delete process.env[workerVariable];
  return text === undefined || process.send === undefined ? null : Number(text);
}

/** How often the parent is told how many connections are closed, and that this worker is well. */
const reportMs = 100;

class WorkerProcess {
  readonly #starting: Starting;
  readonly #channel: Channel;
  readonly #peers: WorkerPeers;
  #serving: { gateway: RunningGateway; readonly listening: Listening } | null = null;
  /** The gateway that is built with a changed config, and is not in use yet. */
  #next: RunningGateway | null = null;
  readonly #retiring = new Set<RunningGateway>();
  #closed = 0;

  constructor(starting: Starting, number: number) {
    this.#starting = starting;
    this.#channel = new Channel(process);
    this.#peers = new WorkerPeers(this.#channel, number);
    this.#obey();
  }

  #obey(): void {
    const channel = this.#channel;
    channel.on('serve', (value) => this.#serve(value as Known));
    channel.on('prepare', (value) => this.#prepare(value as Known));
    channel.on('adopt', (value) => this.#adopt(value as LastReload));
    channel.on('drop', (value) => this.#drop(value as LastReload | undefined));
    channel.on('are you there', () => true);
    channel.on('leave', () => {
      this.#serving?.gateway.leave();
      this.#serving?.listening.leave();
    });
    channel.on('drain', () => this.#end('drain'));
    channel.on('hand over', () => this.#end('handOver'));
    channel.on('end', async () => {
      await this.#serving?.gateway.close();
      process.exit(0);
    });
    // safety: nobody else would end a worker whose parent was killed
    process.once('disconnect', () => void this.#end('drain'));
    // a terminal and some supervisors send a signal to all processes; only the parent knows what the signal means
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => channel.tell('signalled'));
  }

  async #serve(known: Known): Promise<Served | Refusing> {
    const built = await this.#build(known);
    if ('problems' in built) return { code: built.code, reason: built.problems };
    const { server, hash } = built.config;
    const tls = known.tls && (server.tls ?? { cert: known.tls.cert, key: new Secret(known.tls.key) });
    const onConnection = (take: (socket: Socket) => void): void =>
      this.#channel.on('connection', (id, socket) => this.#take({ id, socket }, take));
    const listening = await listen({ ...server, tls, service: () => this.#serving?.gateway ?? built, given: { onConnection } });
    this.#serving = { gateway: built, listening };
    this.#peers.use();
    this.#report();
    watchLoop(this.#starting.places, { parent: process.ppid });
    return { hash, pages: built.pages };
  }

  async #build(
    { bound, adminKeys }: Known,
    how: Building = {},
  ): Promise<RunningGateway | { readonly problems: string; readonly code: number }> {
    const { unkeptKeys, read, build } = this.#starting;
    for (const [dataDir, key] of adminKeys) unkeptKeys.set(dataDir, new Secret(key));
    try {
      const found = await read(bound);
      return isFaulty(found) ? { problems: found.problems, code: 1 } : await build(found, { ...how, peers: this.#peers });
    } catch (error) {
      return { problems: messageOf(error), code: codeOf(error) };
    }
  }

  #take({ id, socket }: { id: unknown; socket: Socket | undefined }, take: (socket: Socket) => void): void {
    // safety: sent before the first byte is read. The parent gives a connection that no worker has taken to another worker
    this.#channel.assure('took', id);
    // a connection that was closed on the way arrives as undefined
    if (socket === undefined) return void this.#closed++;
    socket.once('close', () => this.#closed++);
    take(socket);
  }

  #report(): void {
    setInterval(() => this.#channel.tell('closed', this.#closed), reportMs).unref();
  }

  async #prepare(known: Known): Promise<Prepared> {
    const built = await this.#build(known, { bootMs: reloadBootMs });
    if ('problems' in built) return { problems: built.problems };
    await this.#next?.close();
    this.#next = built;
    return { hash: built.config.hash };
  }

  #adopt(reloaded: LastReload): void {
    const [next, serving] = [this.#next, this.#serving];
    if (next === null || serving === null) return;
    const old = serving.gateway;
    serving.gateway = next;
    this.#peers.use();
    this.#next = null;
    serving.listening.adopt(next.config.server);
    tellReload(reloaded, { before: old.config, after: next.config });
    this.#retiring.add(old);
    void retire(old, this.#starting.logger).finally(() => this.#retiring.delete(old));
  }

  /** @param reloaded absent: the parent does not want the config any more, although it is good */
  async #drop(reloaded: LastReload | undefined): Promise<void> {
    const next = this.#next;
    this.#next = null;
    if (reloaded !== undefined) tellReload(reloaded);
    await next?.close();
  }

  async #end(way: 'drain' | 'handOver'): Promise<void> {
    if (this.#serving === null) process.exit(0);
    const { gateway, listening } = this.#serving;
    const former = [...this.#retiring];
    listening.leave();
    await listening[way](gateway.config.server.limits.drainMs, former);
    await Promise.all([gateway, ...former, ...(this.#next === null ? [] : [this.#next])].map((one) => one.close()));
    process.exit(0);
  }
}

/** Serves until the parent says otherwise. */
export const serveForParent = (starting: Starting, number: number): void => void new WorkerProcess(starting, number);
