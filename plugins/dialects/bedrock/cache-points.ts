/** `cache_control` of the caller → cache points, which are blocks of their own behind what they cache. */
import type { Target } from '../../../core/wire/dialect.ts';
import type { Block } from './media.ts';
import { cachesForAnHour, modelClassOf } from './models.ts';

/** wire: a fifth is a 400. */
const most = 4;

/** The cache points of one request, to be asked for in the order in which the provider reads: tools, system, messages. */
export class CachePoints {
  #count = 0;
  readonly #target: Target;
  readonly #adjust: (parameter: string, change: string) => void;

  constructor(target: Target, adjust: (parameter: string, change: string) => void) {
    this.#target = target;
    this.#adjust = adjust;
  }

  /** Adds a point behind the last block, where the caller marked it. */
  after(blocks: Block[], control: unknown): void {
    if (typeof control !== 'object' || control === null || 'cachePoint' in (blocks.at(-1) ?? {})) return;
    if (modelClassOf(this.#target).caches !== true) return this.#adjust('cache_control', 'dropped');
    if (this.#count === most) return this.#adjust('cache_control', `dropped after the first ${most}`);
    this.#count += 1;
    blocks.push({ cachePoint: { type: 'default', ...this.#life(control) } });
  }

  #life(control: object): Block {
    const { ttl } = control as { ttl?: unknown };
    if (ttl !== '1h') return {};
    if (cachesForAnHour(this.#target)) return { ttl };
    this.#adjust('cache_control.ttl', 'dropped');
    return {};
  }
}
