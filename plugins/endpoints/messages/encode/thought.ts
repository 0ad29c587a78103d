/** The state of a thought as the signature of its block. */
import type { ReasoningDetail } from '../../../../core/chat.ts';
import { hasState, joinedDetail, toOpaque } from '../../../../core/wire/opaque.ts';

/** The mark of a thought whose provider gave no state: clients drop a thought without a signature, and some providers need its text back. */
const noState = toOpaque({ type: 'reasoning.text', text: '' });

/** A thought while its block is open. */
export class Thought {
  text = '';
  #detail: ReasoningDetail | null = null;

  /** Whether a detail can be joined to what came before: two of different types are two. */
  takes({ type }: ReasoningDetail): boolean {
    return this.#detail === null || this.#detail.type === type;
  }

  /** Takes a detail that belongs to the thought. True if it was the last one: it has the state. */
  take(detail: ReasoningDetail): boolean {
    this.#detail = joinedDetail(this.#detail, detail);
    return hasState(detail);
  }

  get signature(): string {
    return this.#detail === null ? noState : toOpaque(this.#detail, this.text);
  }
}
