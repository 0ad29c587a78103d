/**
 * How much happened in the last 60 seconds. The window slides: a minute is any 60 seconds, so no
 * such minute has more than the limit. Everything within a tenth of a second is one amount, and
 * counts until its last part is 60 seconds old: at most 0.1 s too long, and never too short.
 * cost: a window has at most 601 amounts, however much happens.
 */
export const windowMs = 60_000;
const slotMs = 100;
const mostSlots = windowMs / slotMs + 1;

/** A clock that goes back by more than this was set anew. */
const jumpMs = 1000;

export class Window {
  /** When the last part of each amount happened, epoch milliseconds. */
  #times: number[] = [];
  #amounts: number[] = [];
  /** Index of the oldest amount that counts. */
  #first = 0;
  #sum = 0;

  /** @param now epoch milliseconds */
  sum(now: number): number {
    this.#forget(now);
    return this.#sum;
  }

  add(now: number, amount: number): void {
    this.#forget(now);
    const last = this.#times.length - 1;
    const before = this.#times[last];
    // two gateways, or two threads, may have slightly different clocks
    const at = before === undefined ? now : Math.max(before, now);
    if (last >= this.#first && Math.floor((before as number) / slotMs) === Math.floor(at / slotMs)) {
      this.#times[last] = at;
      this.#amounts[last] = (this.#amounts[last] as number) + amount;
    } else {
      this.#times.push(at);
      this.#amounts.push(amount);
    }
    this.#sum += amount;
  }

  /** Milliseconds until the oldest amount counts no more; 0: there is none. Call this after `sum`. */
  resetMs(now: number): number {
    const oldest = this.#times[this.#first];
    return oldest === undefined ? 0 : oldest + windowMs - now;
  }

  /** Milliseconds until this much counts no more; null: there is less. Call this after `sum`. */
  waitMs(now: number, amount: number): number | null {
    let left = amount;
    for (let at = this.#first; at < this.#times.length; at++) {
      left -= this.#amounts[at] as number;
      if (left <= 0) return (this.#times[at] as number) + windowMs - now;
    }
    return null;
  }

  /** Frees the memory of amounts that count no more, where they are half of all or more: then less is copied than was added. */
  free(now: number): void {
    this.#forget(now);
    if (this.#first > 0 && this.#first * 2 >= this.#times.length) this.#cut();
  }

  /** The amounts that count, the oldest first. */
  entries(): (readonly [at: number, amount: number])[] {
    return this.#times.slice(this.#first).map((time, index) => [time, this.#amounts[this.#first + index] as number]);
  }

  #forget(now: number): void {
    const last = this.#times.at(-1);
    if (last !== undefined && last - now > jumpMs) this.#restart(now);
    const before = this.#sum;
    while (this.#first < this.#times.length && (this.#times[this.#first] as number) <= now - windowMs) {
      this.#sum -= this.#amounts[this.#first] as number;
      this.#first++;
    }
    // safety: a provider may report any number, and a sum beyond this one loses small amounts
    if (before > Number.MAX_SAFE_INTEGER) this.#sum = this.#amounts.slice(this.#first).reduce((sum, amount) => sum + amount, 0);
    // cost: the memory of forgotten amounts is freed from time to time, and not each time
    if (this.#first >= mostSlots) this.#cut();
  }

  #cut(): void {
    this.#times = this.#times.slice(this.#first);
    this.#amounts = this.#amounts.slice(this.#first);
    this.#first = 0;
  }

  /** safety: after the clock was set back, amounts with a later time would count for too long. They count as of now. */
  #restart(now: number): void {
    this.#times = [now];
    this.#amounts = [this.#sum];
    this.#first = 0;
  }
}
