/**
 * Some servers leave the thinking inside the answer, in a leading `<think>` block. Tells the two apart while the text
 * arrives. Only the start of an answer counts: a later tag is something the model wrote about.
 */

export interface Split {
  readonly reasoning: string;
  readonly text: string;
}

export interface ThinkTags {
  push(piece: string): Split;
  /** The answer is over: what was held back because it could have become a tag. */
  end(): Split;
}

const opening = '<think>';
const closing = '</think>';
const nothing: Split = { reasoning: '', text: '' };

/** A splitter for one answer. An answer that ends before `</think>` was thinking to its end. */
export const createThinkTags = (): ThinkTags => new Splitter();

class Splitter implements ThinkTags {
  #stage: 'start' | 'thinking' | 'answer' = 'start';
  #held = '';
  #isAfterTag = false;

  push(piece: string): Split {
    this.#held += piece;
    if (this.#stage === 'start') return this.#atStart();
    return this.#stage === 'thinking' ? this.#inThinking() : this.#inAnswer();
  }

  end(): Split {
    const rest = this.#held;
    this.#held = '';
    return this.#stage === 'thinking' ? { reasoning: rest, text: '' } : { reasoning: '', text: rest };
  }

  #atStart(): Split {
    const text = this.#held.trimStart();
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

  /** What is held. One line break after a tag belongs to the tag; null: whether there is one cannot be told yet. */
  #withoutBreak(): string | null {
    if (!this.#isAfterTag) return this.#held;
    if (this.#held === '' || this.#held === '\r') return null;
    this.#isAfterTag = false;
    return this.#held.replace(/^\r?\n/, '');
  }
}

/** Where a closing tag may have begun at the end of `text`; its length where none has. */
function tagStart(text: string): number {
  const at = text.lastIndexOf('<');
  return at !== -1 && closing.startsWith(text.slice(at)) ? at : text.length;
}
