/**
 * Separates thinking from the answer while the text arrives, for servers that leave the thinking in the answer, in a `<think>` block.
 * Only a block at the start of the answer is thinking, because a later tag may be something that the model writes about.
 */

/** A piece of text, separated. */
export interface Split {
  readonly reasoning: string;
  readonly text: string;
}

/** The splitter of one answer. */
export interface ThinkTags {
  /** Takes the next piece. Text that may be the start of a tag is held back. */
  push(piece: string): Split;
  /** Called once at the end of the answer. Returns the text that was held back. */
  end(): Split;
}

const opening = '<think>';
const closing = '</think>';
const nothing: Split = { reasoning: '', text: '' };

/** Makes the splitter of one answer. If the answer ends before `</think>`, all of its text is reasoning. */
export const createThinkTags = (): ThinkTags => new Splitter();

class Splitter implements ThinkTags {
  #stage: 'start' | 'thinking' | 'answer' = 'start';
  #held = '';
  /** The text that is held at the start, without the blanks before it: never more than a part of a tag. */
  #start = '';
  #isAfterTag = false;

  push(piece: string): Split {
    this.#held += piece;
    if (this.#stage === 'start') return this.#atStart(piece);
    return this.#stage === 'thinking' ? this.#inThinking() : this.#inAnswer();
  }

  end(): Split {
    const rest = this.#held;
    this.#held = '';
    return this.#stage === 'thinking' ? { reasoning: rest, text: '' } : { reasoning: '', text: rest };
  }

  #atStart(piece: string): Split {
    // cost: to trim all blanks so far at each piece takes quadratic time
    const text = (this.#start + piece).trimStart();
    this.#start = text;
    if (text.length < opening.length && opening.startsWith(text)) return nothing;
    if (text.startsWith(opening)) {
      this.#enter('thinking', text.slice(opening.length));
      return this.#inThinking();
    }
    this.#stage = 'answer';
    return this.#inAnswer();
  }

  #inThinking(): Split {
    const text = this.#withoutBreak();
    if (text === null) return nothing;
    const end = text.indexOf(closing);
    if (end === -1) {
      const kept = tagStart(text);
      this.#held = text.slice(kept);
      return { reasoning: text.slice(0, kept), text: '' };
    }
    this.#enter('answer', text.slice(end + closing.length));
    return { reasoning: text.slice(0, end), text: this.#inAnswer().text };
  }

  #inAnswer(): Split {
    const text = this.#withoutBreak();
    if (text === null) return nothing;
    this.#held = '';
    return { reasoning: '', text };
  }

  #enter(stage: 'thinking' | 'answer', rest: string): void {
    this.#stage = stage;
    this.#held = rest;
    this.#isAfterTag = true;
  }

  /** The held text without the line break that may follow a tag. Null: more text is needed to see whether there is one. */
  #withoutBreak(): string | null {
    if (!this.#isAfterTag) return this.#held;
    if (this.#held === '' || this.#held === '\r') return null;
    this.#isAfterTag = false;
    return this.#held.replace(/^\r?\n/, '');
  }
}

/** The index at which a closing tag may begin at the end of `text`; the length of `text` if none begins there. */
function tagStart(text: string): number {
  const at = text.lastIndexOf('<');
  return at !== -1 && closing.startsWith(text.slice(at)) ? at : text.length;
}
