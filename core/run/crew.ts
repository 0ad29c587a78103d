/**
 * The workers, as their parent sees them: it starts them, hands each new connection to the one that has the fewest, and puts another
 * one in the place of one that died.
 *
 * cost: were the workers to accept from one shared socket, the kernel would give 31 of 32 new connections to one of two; a socket for
 * each (SO_REUSEPORT) would lose what waits in it when its worker dies. Handing one over takes 85 µs of the parent's CPU.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../cancellation.ts';
import { Exit } from '../exit.ts';
import type { Logger } from '../logger.ts';
import { Channel } from '../workers/channel.ts';
import { Relay } from '../workers/relay.ts';
import type { Peer } from '../workers/relay.ts';
import { variable } from './orders.ts';
import type { Known, Prepared, Refusing, Served } from './orders.ts';
import { messageOf } from './serving.ts';

/** How long a worker may take to serve, or to read a changed config. */
const startMs = 60_000;
/** A worker that has said nothing for so long gets no connection while another one is well. */
const silenceMs = 2000;
/** A worker that lived for so long is replaced at once. */
const steadyMs = 10_000;
const backoffMs = { first: 200, most: 10_000 };
/** Connections that are kept while no worker serves. */
const mostKept = 1000;
/** A signal to a worker is its own where the parent has had none for so long. */
const ownSignalMs = 500;
const lastWordsMs = 1000;
/** What a worker gets beyond `drain_ms`, for the last records. */
const lastRecordsMs = 15_000;

interface Member extends Peer {
  readonly child: ChildProcess;
  readonly startedAt: number;
  readonly ended: Promise<string>;
  state: 'starting' | 'serving' | 'leaving';
  /** Connections that it was given, and how many of them are closed. */
  given: number;
  closed: number;
  heardAt: number;
  /** Connections that it was given and has not taken yet, by number. */
  readonly onTheWay: Map<number, Socket>;
}

export interface CrewParts {
  readonly count: number;
  readonly logger: Logger;
  /** What a worker must know that starts now, or reads the config again. */
  known(): Known;
  /** Called with a worker that replaces another one, and with the config that it serves. */
  aligned(worker: Crewmate, hash: string): void;
}

/** A worker that can be asked to take over a config. */
export type Crewmate = Pick<Peer, 'number' | 'channel'>;

export class Crew {
  readonly relay = new Relay(() => this.#serving);
  readonly #parts: CrewParts;
  readonly #members = new Set<Member>();
  readonly #kept: Socket[] = [];
  #failures = 0;
  #isEnding = false;

  constructor(parts: CrewParts) {
    this.#parts = parts;
  }

  get #serving(): Member[] {
    return [...this.#members].filter(({ state }) => state === 'serving');
  }

  /** Starts the first worker, alone: it prepares what all share, such as the store. Throws an Exit with its code where it refuses. */
  first(): Promise<Served> {
    return this.#begin(this.#add());
  }

  /** Starts the others. Throws an Exit where one refuses. */
  async others(): Promise<void> {
    const missing = Array.from({ length: this.#parts.count - this.#members.size }, () => this.#add());
    await Promise.all(missing.map((member) => this.#begin(member)));
    for (const member of this.#members) void member.ended.then((how) => this.#lost(member, how));
  }

  /** Hands a connection to a worker. */
  pass(socket: Socket): void {
    const member = this.#quietest();
    if (member === null) return this.#keep(socket);
    const id = ++member.given;
    member.onTheWay.set(id, socket);
    member.channel.give('connection', id, socket);
  }

  /** Has every worker read the changed config and build a gateway with it, one after the other. Returns why one refuses; null: none does. */
  async prepare(): Promise<string | null> {
    for (const member of this.#serving) {
      const problems = await this.prepareOne(member);
      // the one that takes the place of a worker that has ended reads the changed config itself
      if (problems !== null && member.state === 'serving' && member.channel.isOpen) return problems;
    }
    return null;
  }

  async prepareOne({ number, channel }: Crewmate): Promise<string | null> {
    try {
      const prepared = (await channel.call('prepare', this.#parts.known(), startMs)) as Prepared;
      return 'problems' in prepared ? prepared.problems : null;
    } catch (error) {
      return `worker ${number}: ${messageOf(error)}`;
    }
  }

  tellAll(topic: string, value?: unknown): void {
    for (const { channel } of this.#members) channel.tell(topic, value);
  }

  /** Has all workers end. Resolves when they have; those that are late are killed. */
  async end(how: 'drain' | 'hand over' | 'end', withinMs: number): Promise<void> {
    this.#isEnding = true;
    this.tellAll(how);
    const late = setTimeout(() => {
      for (const { child } of this.#members) child.kill('SIGKILL');
    }, withinMs + lastRecordsMs);
    await Promise.all([...this.#members].map(({ ended }) => ended));
    clearTimeout(late);
    for (const socket of this.#kept) socket.destroy();
  }

  #add(): Member {
    const numbers = new Set(Array.from(this.#members, ({ number }) => number));
    let number = 1;
    while (numbers.has(number)) number++;
    const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: { ...process.env, [variable]: String(number) } });
    const channel = new Channel(child);
    const ended = new Promise<string>((resolve) => {
      // all that it said is heard before: what it has taken must not be given to another one
      child.once('exit', (code, signal) => void within(channel.whenClosed, lastWordsMs, null).then(() => resolve(signal ?? `the code ${code}`)));
      child.once('error', (error) => resolve(error.message));
    });
    const member: Member = { number, child, channel, startedAt: performance.now(), ended, state: 'starting', given: 0, closed: 0, heardAt: 0, onTheWay: new Map() };
    this.#members.add(member);
    void ended.then(() => this.#forget(member));
    member.channel.on('took', (id) => {
      member.onTheWay.get(id as number)?.destroy();
      member.onTheWay.delete(id as number);
    });
    member.channel.on('closed', (closed) => {
      member.closed = closed as number;
      member.heardAt = performance.now();
    });
    member.channel.on('signalled', () => this.#signalled(member));
    this.relay.connect(member);
    return member;
  }

  /** Has a worker serve. Throws an Exit where it refuses; the worker has ended then. */
  async #begin(member: Member): Promise<Served> {
    const served = await this.#serve(member);
    if ('reason' in served) {
      member.child.kill('SIGKILL');
      await member.ended;
      throw new Exit(served.code, served.reason);
    }
    member.state = 'serving';
    member.heardAt = performance.now();
    for (const socket of this.#kept.splice(0)) this.pass(socket);
    return served;
  }

  async #serve({ number, child, channel, ended }: Member): Promise<Served | Refusing> {
    try {
      return (await channel.call('serve', this.#parts.known(), startMs)) as Served | Refusing;
    } catch (error) {
      if (child.connected) return { code: 1, reason: `Worker ${number} does not begin to serve: ${messageOf(error)}` };
      const how = await ended;
      return { code: child.exitCode ?? 1, reason: `Worker ${number} ended with ${how} before it served; its messages are in the output.` };
    }
  }

  #quietest(): Member | null {
    const latest = performance.now() - silenceMs;
    const serving = this.#serving;
    const well = serving.filter(({ heardAt }) => heardAt > latest);
    const open = ({ given, closed }: Member): number => given - closed;
    return (well.length > 0 ? well : serving).reduce<Member | null>((least, one) => (least === null || open(one) < open(least) ? one : least), null);
  }

  #keep(socket: Socket): void {
    if (this.#isEnding || this.#kept.length >= mostKept) socket.destroy();
    else this.#kept.push(socket);
  }

  #forget(member: Member): void {
    this.#members.delete(member);
    this.relay.gone(member.number);
    for (const socket of member.onTheWay.values()) this.pass(socket);
  }

  /** A worker has ended after it served. */
  #lost(member: Member, how: string): void {
    if (this.#isEnding || member.state === 'leaving') return;
    const livedMs = performance.now() - member.startedAt;
    if (livedMs > steadyMs) this.#failures = 0;
    this.#parts.logger.error('a worker has ended; another one takes its place', { worker: member.number, pid: member.child.pid, how });
    void this.#replace(livedMs > steadyMs ? 0 : this.#nextPause());
  }

  #nextPause(): number {
    return Math.min(backoffMs.most, backoffMs.first * 2 ** this.#failures++);
  }

  async #replace(pauseMs: number): Promise<void> {
    await wait(pauseMs);
    if (this.#isEnding) return;
    const member = this.#add();
    try {
      const { hash } = await this.#begin(member);
      void member.ended.then((how) => this.#lost(member, how));
      this.#parts.aligned(member, hash);
    } catch (error) {
      if (this.#isEnding) return;
      const againMs = this.#nextPause();
      this.#parts.logger.error('a worker could not be started; the others serve on', { reason: messageOf(error), serving: this.#serving.length, againMs });
      await this.#replace(againMs);
    }
  }

  /** A signal came to this worker. Another one takes its place, unless the signal was for all. */
  async #signalled(member: Member): Promise<void> {
    await wait(ownSignalMs);
    if (this.#isEnding || member.state !== 'serving') return;
    this.#parts.logger.info('a worker was told to end; another one takes its place', { worker: member.number, pid: member.child.pid });
    await this.#replace(0);
    member.state = 'leaving';
    member.channel.tell('hand over');
  }
}
