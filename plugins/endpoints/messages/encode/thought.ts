/** The state of a thought as the signature of its block. */
import type { ReasoningDetail } from '../../../../core/chat.ts';
import { toOpaque } from '../../../../core/wire/opaque.ts';

/** The mark of a thought whose provider gave no state: clients drop a thought without a signature, and some providers need its text back. */
const noState = toOpaque({ type: 'reasoning.text', text: '' });

/** A thought while its block is open. */
export class Thought {
  text = '';
  #detail: ReasoningDetail | null = null;

  /** Takes a detail that belongs to the thought. True if it was the last one: it has the state. wire: some providers send a detail for each piece of the text, and the state with the last one (OpenRouter: Reasoning tokens) */
  take(detail: ReasoningDetail): boolean {
    const before = this.#detail;
    this.#detail = before === null ? detail : { ...before, ...detail, ...joined('text', before, detail), ...joined('summary', before, detail) };
    return hasState(detail);
  }

  get signature(): string {
    return this.#detail === null ? noState : toOpaque(this.#detail, this.text);
  }
}

const hasState = ({ signature, data }: ReasoningDetail): boolean => (typeof signature === 'string' && signature !== '') || (typeof data === 'string' && data !== '');

function joined(field: 'text' | 'summary', before: ReasoningDetail, detail: ReasoningDetail): Partial<ReasoningDetail> {
  const [first, second] = [before[field], detail[field]];
  return typeof first === 'string' && typeof second === 'string' ? { [field]: first + second } : {};
}
