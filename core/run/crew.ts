/**
 * The workers, as their parent sees them: the parent starts them, hands each new connection to the worker with the fewest, and
 * replaces a worker that died.
 *
 * cost: with one shared socket, the kernel would give 31 of 32 new connections to one of two workers. With a socket for each worker
 * (SO_REUSEPORT), the connections that wait in it are lost when its worker dies. To hand one over takes 85 µs of the parent's CPU.
 */
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Exit, messageOf } from '../exit.ts';
import type { Logger } from '../logger.ts';
import { Relay } from '../workers/relay.ts';
import type { Peer } from '../workers/relay.ts';
import { startMember } from './member.ts';
import type { Member } from './member.ts';
import type { LastReload } from '../host/reloads/history.ts';
import type { Known, Prepared, Refusing, Served } from './orders.ts';

/** How long a worker may take to start serving, or to read a changed config. */
const startMs = 60_000;
/** A worker that has sent nothing for this time gets no connection while another worker is well. */
const silenceMs = 2000;
/** A worker that lived for this time is replaced at once. */
const steadyMs = 10_000;
const backoffMs = { first: 200, most: 10_000 };
/** Connections that are kept while no worker serves. */
const mostKept = 1000;
/** A signal to a worker counts as meant for that worker alone if the parent has got no signal for this time. */
const ownSignalMs = 500;
/** The time that a worker gets beyond `drain_ms`, for the last records. */
const lastRecordsMs = 15_000;

interface CrewParts {
  readonly count: number;
  readonly logger: Logger;
  /** What a worker needs to know when it starts, or reads the config again. */
  known(): Known;
  /**
   * Called with a worker that did not prepare the config that the others use,
   * because it has just begun, and with the hash of the config with which it began.
   */
  aligned(worker: Peer, hash: string): void;
}

export class Crew {
  readonly relay = new Relay(() => this.#serving);
  readonly #parts: CrewParts;
  readonly #members = new Set<Member>();
  readonly #kept: Socket[] = [];
  /** The workers that have read the last changed config. */
  readonly #prepared = new Set<Member>();
  #failures = 0;
  #isLeaving = false;
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
    // if the first worker has ended by now, it is replaced
    const missing = Array.from({ length: this.#parts.count - 1 }, () => this.#add());
    await Promise.all(missing.map((member) => this.#begin(member)));
  }

  /** Hands a connection to a worker. */
  pass(socket: Socket): void {
    this.#give(socket, this.#quietest());
  }

  #give(socket: Socket, member: Member | null): void {
    if (member === null) return this.#keep(socket);
    const id = ++member.given;
    member.onTheWay.set(id, socket);
    member.channel.give('connection', id, socket);
  }

  /**
   * Has every worker read the changed config and build a gateway with it, one after the other. Returns why one refuses; null: none does.
   */
  async prepare(): Promise<string | null> {
    this.#prepared.clear();
    for (const member of this.#serving) {
      const prepared = await this.prepareOne(member);
      if (!('problems' in prepared)) this.#prepared.add(member);
      // safety: a worker that has ended counts as refusing: this config may have ended it, and would
      // end the next one too. If not, the worker that takes its place has the config read again
      else if (member.state === 'serving') return prepared.problems;
    }
    return null;
  }

  async prepareOne({ number, channel }: Peer): Promise<Prepared> {
    try {
      return (await channel.call('prepare', this.#parts.known(), startMs)) as Prepared;
    } catch (error) {
      return { problems: `worker ${number}: ${messageOf(error)}` };
    }
  }

  /**
   * Makes all workers use the config that they have prepared. A worker that began meanwhile, perhaps with the former config, is aligned.
   */
  adopt(reloaded: LastReload): void {
    this.tellAll('adopt', reloaded);
    for (const member of this.#serving) if (!this.#prepared.has(member)) this.#parts.aligned(member, member.hash);
  }

  /** From now on no worker says that it is ready. This includes workers that begin later. */
  leave(): void {
    this.#isLeaving = true;
    this.tellAll('leave');
  }

  tellAll(topic: string, value?: unknown): void {
    for (const { channel } of this.#members) channel.assure(topic, value);
  }

  /** Makes all workers end. Resolves when they have ended; workers that are late are killed. */
  async end(how: 'drain' | 'hand over' | 'end', withinMs: number): Promise<void> {
    this.#isEnding = true;
    this.tellAll(how);
    const toldAt = performance.now();
    const late = setTimeout(() => {
      for (const { child } of this.#members) child.kill('SIGKILL');
    }, withinMs + lastRecordsMs);
    // a stop that does not wait for running requests does not wait for a worker that hangs
    const silent = setTimeout(() => {
      for (const { child, heardAt } of this.#members) if (how === 'end' && heardAt < toldAt) child.kill('SIGKILL');
    }, silenceMs);
    await Promise.all([...this.#members].map(({ ended }) => ended));
    clearTimeout(late);
    clearTimeout(silent);
    for (const socket of this.#kept) socket.destroy();
  }

  #add(): Member {
    const numbers = new Set(Array.from(this.#members, ({ number }) => number));
    let number = 1;
    while (numbers.has(number)) number++;
    const member = startMember(number, this.#parts.count);
    this.#members.add(member);
    void member.ended.then(() => this.#forget(member));
    member.channel.on('took', (id) => {
      member.onTheWay.get(id as number)?.destroy();
      member.onTheWay.delete(id as number);
    });
    member.channel.on('closed', (closed) => {
      member.closed = closed as number;
      member.heardAt = performance.now();
      if (member.onTheWay.size > 0) void this.#seek(member);
    });
    member.channel.on('signalled', () => this.#signalled(member));
    this.relay.connect(member);
    return member;
  }

  /** Makes a worker serve. Throws an Exit where the worker refuses; the worker has ended then. */
  async #begin(member: Member): Promise<Served> {
    const served = await this.#serve(member);
    if ('reason' in served) {
      member.child.kill('SIGKILL');
      await member.ended;
      throw new Exit(served.code, served.reason);
    }
    member.state = 'serving';
    member.hash = served.hash;
    member.heardAt = performance.now();
    void member.ended.then((how) => this.#lost(member, how));
    if (this.#isLeaving) member.channel.assure('leave');
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

  #quietest(except: Member | null = null): Member | null {
    const latest = performance.now() - silenceMs;
    const serving = this.#serving.filter((one) => one !== except);
    const well = serving.filter(({ heardAt }) => heardAt > latest);
    return (well.length > 0 ? well : serving).reduce<Member | null>(
      (least, one) => (least === null || openAt(one) < openAt(least) ? one : least),
      null,
    );
  }

  #keep(socket: Socket): void {
    if (this.#isEnding || this.#kept.length >= mostKept) socket.destroy();
    else this.#kept.push(socket);
  }

  /**
   * Gives connections that did not arrive at this worker to another one: a process without a free file descriptor gets the message of a
   * connection without the connection, and Node drops both. Messages keep their order: a connection that a worker has not taken when it
   * answers a later message did not arrive.
   */
  async #seek(member: Member): Promise<void> {
    if (member.isAsked) return;
    const before = [...member.onTheWay.keys()];
    member.isAsked = true;
    const hasAnswered = await member.channel.call('are you there', null, silenceMs).then(
      () => true,
      () => false,
    );
    member.isAsked = false;
    for (const id of hasAnswered ? before : []) {
      const socket = member.onTheWay.get(id);
      if (socket === undefined) continue;
      member.onTheWay.delete(id);
      member.missed++;
      const other = this.#quietest(member);
      if (other === null) socket.destroy();
      else this.#give(socket, other);
    }
  }

  #forget(member: Member): void {
    this.#members.delete(member);
    this.#prepared.delete(member);
    this.relay.gone(member.number);
    for (const socket of member.onTheWay.values()) this.pass(socket);
  }

  /** Handles the end of a worker that has served. */
  #lost(member: Member, how: string): void {
    if (this.#isEnding || member.state === 'leaving' || member.isReplaced) return;
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
      this.#parts.aligned(member, hash);
    } catch (error) {
      if (this.#isEnding) return;
      const againMs = this.#nextPause();
      const serving = this.#serving.length;
      this.#parts.logger.error(
        serving > 0
          ? 'a worker could not be started; the others keep serving'
          : 'a worker could not be started, and no other one serves; new connections wait until one does',
        { reason: messageOf(error), serving, againMs },
      );
      await this.#replace(againMs);
    }
  }

  /** Handles a signal that a worker got. Another worker takes its place, unless the signal was for all. */
  async #signalled(member: Member): Promise<void> {
    await wait(ownSignalMs);
    if (this.#isEnding || this.#isLeaving || member.state !== 'serving' || member.isReplaced) return;
    member.isReplaced = true;
    this.#parts.logger.info('a worker was told to end; another one takes its place', { worker: member.number, pid: member.child.pid });
    await this.#replace(0);
    member.state = 'leaving';
    member.channel.assure('hand over');
  }
}

/** How many connections the worker has. */
const openAt = ({ given, closed, missed }: Member): number => given - closed - missed;
