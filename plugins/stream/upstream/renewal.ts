/**
 * Credentials that expire: asked for once for all requests that need them, and renewed before they expire. A request waits only where
 * there are no valid credentials.
 */
import type { Credentials } from '../../../core/wire/dialect.ts';
import { within } from '../../../core/cancellation.ts';

/** The purpose of the credentials, and the function to call when they change. */
interface RenewalParts {
  fetch(): Promise<Credentials>;
  clock(): number;
  /**
   * Called with the failure when there are no new credentials, and with null
   * when there are some again. Further failures in a row are not reported.
   */
  changed(fault: Error | null): void;
}

/**
 * wire: the clouds give out the same token again until about five minutes before it expires, so an earlier renewal
 * would change nothing (Google Cloud: VM metadata, access tokens; MSAL: token cache; AWS: EC2 instance metadata).
 */
const leadMs = 270_000;
const leastPauseMs = 1000;
/** How long after a failure the identity is not asked again. */
const restMs = 5000;
/** The limit of one call. A library may look for an identity in many places. */
const limitMs = 30_000;
/** Credentials that expire within this time are not used: the provider would read them too late. */
const marginMs = 1000;
/** The longest time that a timer can wait. */
const longestMs = 2 ** 31 - 1;

export class Renewal implements Disposable {
  readonly #parts: RenewalParts;
  #current: Credentials | null = null;
  #flight: Promise<Credentials> | null = null;
  #fault: Error | null = null;
  #restsUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /** Valid credentials, at once if there are some. Rejects where the identity gives none. */
  get(): Credentials | Promise<Credentials> {
    const now = this.#parts.clock();
    if (this.#current !== null && isValid(this.#current, now)) return this.#current;
    if (this.#fault !== null && now < this.#restsUntil) return Promise.reject(this.#fault);
    return this.#renew();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
  }

  /** safety: callers that need credentials at the same time share one call, because the cloud would refuse one call for each. */
  #renew(): Promise<Credentials> {
    this.#flight ??= this.#ask().finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #ask(): Promise<Credentials> {
    try {
      const credentials = await within(this.#parts.fetch(), limitMs, null);
      if (credentials === null) throw new Error(`There was no answer within ${limitMs / 1000} s.`);
      const leftMs = (credentials.expiresAt ?? Infinity) - this.#parts.clock();
      if (leftMs <= marginMs) throw new Error('The credentials that came have expired.');
      this.#current = credentials;
      this.#tell(null);
      if (leftMs !== Infinity) this.#schedule(Math.max(leftMs - leadMs, leftMs / 2, leastPauseMs));
      return credentials;
    } catch (thrown) {
      const fault = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#restsUntil = this.#parts.clock() + restMs;
      this.#tell(fault);
      this.#schedule(restMs);
      throw fault;
    }
  }

  #tell(fault: Error | null): void {
    const isNews = (fault === null) !== (this.#fault === null);
    this.#fault = fault;
    if (isNews && !this.#isDisposed) this.#parts.changed(fault);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isDisposed) return;
    // `changed` has told of a failure
    this.#timer = setTimeout(() => void this.#renew().catch(() => {}), Math.min(ms, longestMs)).unref();
  }
}

const isValid = ({ expiresAt }: Credentials, now: number): boolean => expiresAt === null || expiresAt - now > marginMs;
