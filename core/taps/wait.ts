/** How long the gateway waits for an observer. */
import { report } from './tap.ts';
import type { GuardedTap } from './tap.ts';

/** How long an observer may keep the others waiting, in milliseconds. */
const patienceOf = (hook: string): number => (hook === 'close' ? 10_000 : 1000);
/** After this many late answers, without one in time in between, the gateway no longer waits for the observer. */
const overrunsAtMost = 3;

/**
 * How long the gateway waits for one observer: as long as its hook allows, and not at all once
 * the observer has been late too often. After an answer in time, the gateway waits for it again.
 */
export class Wait {
  readonly #tapped: GuardedTap;
  readonly #ms: number;
  #overruns = 0;
  #overranAt = -Infinity;

  constructor(tapped: GuardedTap) {
    this.#tapped = tapped;
    this.#ms = patienceOf(tapped.hook);
  }

  /**
   * Resolves as the observer's promise does, or without a value when the observer is late. Resolves at
   * once where the observer is not waited for. The error of an observer that nobody waits for is reported.
   */
  for(answer: Promise<unknown>): Promise<unknown> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      let isAwaited = this.#isTrusted;
      let timer: NodeJS.Timeout | undefined;
      const goOn = (): void => {
        if (isAwaited) this.#overrun(startedAt);
        isAwaited = false;
        resolve(undefined);
      };
      // cost: most answer within this tick, and a timer for each is 2 % of the CPU of a plain request
      const soon = isAwaited ? setImmediate(() => (timer = setTimeout(goOn, this.#ms))) : undefined;
      if (!isAwaited) goOn();
      const came = (): void => {
        clearImmediate(soon);
        clearTimeout(timer);
        if (performance.now() - startedAt < this.#ms) this.#inTime();
      };
      const answered = (value: unknown): void => {
        came();
        resolve(value);
      };
      const failed = (thrown: unknown): void => {
        came();
        if (isAwaited) reject(thrown);
        else report(thrown, this.#tapped);
      };
      answer.then(answered, failed);
    });
  }

  get #isTrusted(): boolean {
    // `health` is a waterfall, which needs the value that each tap returns
    return this.#tapped.hook === 'health' || this.#overruns < overrunsAtMost;
  }

  #overrun(startedAt: number): void {
    // calls that were under way at the same time count as one overrun
    if (startedAt < this.#overranAt) return;
    this.#overranAt = performance.now();
    this.#overruns++;
    this.#tell(
      'warn',
      this.#isTrusted
        ? 'an observer is late; the gateway goes on without waiting for it'
        : 'an observer is late again and again; it keeps running, but no request waits for it until it is in time',
      { waitedMs: this.#ms },
    );
  }

  #inTime(): void {
    if (!this.#isTrusted) this.#tell('info', 'an observer is in time again, and requests wait for it');
    this.#overruns = 0;
  }

  #tell(level: 'info' | 'warn', message: string, facts: object = {}): void {
    const { plugin, hook, logger } = this.#tapped;
    logger[level](message, { plugin, hook, ...facts });
  }
}
