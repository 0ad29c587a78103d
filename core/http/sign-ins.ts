/**
 * Delays the answers to wrong admin keys, counted for each client address: a thousand guesses a second become a few. A right key is
 * answered at once, and sessions are not slowed, so that nobody can lock the owner out by guessing from elsewhere. A process has one
 * `SignIns`, which outlives reloads; workers tell each other of wrong keys and of ended sessions.
 */
import { isIPv4 } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { isSame } from '../secret.ts';
import { groupsOf, plainAddress } from '../wire/address.ts';
import type { Peers } from '../workers/peers.ts';
import { EndedSessions } from './sessions.ts';
import type { Ended } from './sessions.ts';

/** Wrong keys of one address that are answered at once. */
const free = 5;
const firstHoldMs = 250;
const longestHoldMs = 2000;
/**
 * The most wrong keys of one address whose answers are delayed at the
 * same time. While so many wait, no other key of that address is checked.
 */
const mostDelayed = 8;
/** An address is forgotten when it has sent no wrong key for this time. */
const forgetMs = 600_000;
/** safety: the limit of addresses that are kept; beyond it the one that was seen least recently is forgotten. */
const mostAddresses = 10_000;
/** The least time between two lines of the process log about wrong keys. */
const reportMs = 10_000;

interface Guesser {
  wrong: number;
  waiting: number;
  lastAt: number;
}

/** Somebody who sends an admin key. */
interface Claimant {
  /** The client's address; null: the request comes from this process. */
  readonly address: string | null;
  readonly logger: Logger;
}

type Others = Pick<Peers, 'broadcast' | 'on'>;

export class SignIns implements Disposable {
  readonly ended: EndedSessions;
  /** Wrong keys that were checked. */
  wrong = 0;
  /** Keys that were not checked, because their address had sent too many wrong ones. */
  unread = 0;
  readonly #guessers = new Map<string, Guesser>();
  readonly #others: Others | null;
  #unsaid = { wrong: 0, unread: 0 };
  #report: NodeJS.Timeout | null = null;

  /** @param others workers behind the same port: guesses are slowed, and sessions ended, in all of them */
  constructor(others: Others | null = null) {
    this.#others = others;
    this.ended = new EndedSessions((ended) => others?.broadcast('ended', ended));
    others?.on('ended', (ended) => this.ended.learn(ended as Ended));
    others?.on('wrong', (place) => void this.#hold(this.#guesserAt(place as string)));
  }

  /** The number of addresses that are kept. */
  get addresses(): number {
    return this.#guessers.size;
  }

  /** Whether one of these keys is the right one. Resolves late for a wrong one. Throws `too_many_attempts`. */
  async isRight(given: readonly string[], right: string, claimant: Claimant): Promise<boolean> {
    const place = networkOf(claimant.address ?? '');
    if ((this.#guessers.get(place)?.waiting ?? 0) >= mostDelayed) {
      this.unread++;
      this.#say('unread', claimant);
      throw new GatewayError('too_many_attempts', 'Too many wrong admin keys came from this address. Wait a moment, and try again.', {
        retryAfterMs: longestHoldMs,
      });
    }
    if (given.some((key) => isSame(key, right))) return true;
    this.wrong++;
    this.#say('wrong', claimant);
    this.#others?.broadcast('wrong', place);
    await this.#hold(this.#guesserAt(place));
    return false;
  }

  [Symbol.dispose](): void {
    if (this.#report !== null) clearTimeout(this.#report);
  }

  /** Delays the answer to a wrong key. The delay goes on if the client leaves, so a client gains nothing by leaving. */
  async #hold(guesser: Guesser): Promise<void> {
    guesser.wrong++;
    guesser.lastAt = performance.now();
    const beyond = guesser.wrong - free;
    if (beyond <= 0) return;
    guesser.waiting++;
    await pause(Math.min(longestHoldMs, firstHoldMs * 2 ** Math.min(beyond - 1, 10)), undefined, { ref: false });
    guesser.waiting--;
  }

  #guesserAt(place: string): Guesser {
    const known = this.#guessers.get(place);
    const guesser = known !== undefined && performance.now() - known.lastAt < forgetMs ? known : { wrong: 0, waiting: 0, lastAt: 0 };
    // the map is in the order of last use
    this.#guessers.delete(place);
    if (this.#guessers.size >= mostAddresses) this.#guessers.delete(this.#guessers.keys().next().value as string);
    this.#guessers.set(place, guesser);
    return guesser;
  }

  /** The first wrong key is in the process log at once; those of the next ten seconds are counted into one more line. */
  #say(what: 'wrong' | 'unread', { address, logger }: Claimant): void {
    this.#unsaid[what]++;
    if (this.#report !== null) return;
    const write = (): void => {
      logger.warn('wrong admin keys were sent', { ...this.#unsaid, lastAddress: address });
      this.#unsaid = { wrong: 0, unread: 0 };
      this.#report = setTimeout(() => {
        this.#report = null;
        if (this.#unsaid.wrong + this.#unsaid.unread > 0) write();
      }, reportMs).unref();
    };
    write();
  }
}

/**
 * The network of a client: an IPv4 address itself; the first half of an IPv6
 * address, because one machine may use all addresses of the other half.
 */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  return isIPv4(plain) ? plain : groupsOf(plain).slice(0, 4).join(':');
}
