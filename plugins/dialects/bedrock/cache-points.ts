/**
 * Turns the caller's `cache_control` into cache points.
 * wire: a cache point is a block of its own, after the blocks that it caches (Amazon Bedrock: Prompt caching).
 */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import type { Block } from './media.ts';
import { cachesForAnHour, modelClassOf } from './models.ts';

/** wire: a fifth cache point is a 400 (Amazon Bedrock: Prompt caching). */
const most = 4;

/**
 * wire: a cache point directly after a document whose text Bedrock extracts itself (every document but a PDF) is a 400
 * "messages.0.content.2.type: Field required" (aws/aws-sdk-java-v2#6277, 2026-08; strands-agents/harness-sdk#1966, 2026-03)
 */
const isReadAsText = ({ document }: Block): boolean => document !== undefined && fieldsOf(document)['format'] !== 'pdf';

/**
 * The cache points of one request. They must be asked for in the order in which the provider reads the request: tools, system, messages.
 */
export class CachePoints {
  #count = 0;
  /** The blocks that were looked at last, and how many of them. */
  #blocks: readonly Block[] = [];
  #looked = 0;
  #place = 0;
  /** True if there is one that lasts five minutes. */
  #hasShort = false;
  readonly #target: Target;
  readonly #adjust: Adjust;

  constructor(target: Target, adjust: Adjust) {
    this.#target = target;
    this.#adjust = adjust;
  }

  /** Adds a cache point after the last block if `control` is the caller's `cache_control` for it. Notes an adjustment if it cannot. */
  after(blocks: Block[], control: unknown): void {
    if (typeof control !== 'object' || control === null || 'cachePoint' in (blocks.at(-1) ?? {})) return;
    if (modelClassOf(this.#target).caches !== true) return this.#adjust('cache_control', 'dropped');
    if (this.#count === most) return this.#adjust('cache_control', `dropped after the first ${most}`);
    const place = this.#placeIn(blocks);
    if (place < blocks.length) {
      this.#adjust('cache_control', place === 0 ? 'dropped after a document that is no PDF' : 'moved before a document that is no PDF');
    }
    if (place === 0 || 'cachePoint' in (blocks[place - 1] as Block)) return;
    this.#count += 1;
    blocks.splice(place, 0, { cachePoint: { type: 'default', ...this.#life(control) } });
    this.#place = place + 1;
  }

  /** The place after the last block that is not read as text. cost: each block is looked at once: a caller may mark each of 80,000. */
  #placeIn(blocks: readonly Block[]): number {
    if (blocks !== this.#blocks) [this.#blocks, this.#looked, this.#place] = [blocks, 0, 0];
    for (; this.#looked < blocks.length; this.#looked++) if (!isReadAsText(blocks[this.#looked] as Block)) this.#place = this.#looked + 1;
    return this.#place;
  }

  #life(control: object): Block {
    const { ttl } = control as { ttl?: unknown };
    // wire: a longer one behind a shorter one is a 400 (Amazon Bedrock: Prompt caching, "longer TTL must appear before shorter TTLs")
    if (ttl === '1h' && cachesForAnHour(this.#target) && !this.#hasShort) return { ttl };
    if (ttl === '1h') this.#adjust('cache_control.ttl', this.#hasShort ? 'dropped behind a shorter one' : 'dropped');
    this.#hasShort = true;
    return {};
  }
}
