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
export function createThinkTags(): ThinkTags {
  let stage: 'start' | 'thinking' | 'answer' = 'start';
  let held = '';
  let isAfterTag = false;

  /** One line break after a tag belongs to the tag. Null: it cannot be told yet. */
  function withoutBreak(text: string): string | null {
    if (!isAfterTag) return text;
    if (text === '' || text === '\r') return null;
    isAfterTag = false;
    return text.replace(/^\r?\n/, '');
  }

  function enter(next: 'thinking' | 'answer', rest: string): void {
    stage = next;
    held = rest;
    isAfterTag = true;
  }

  function atStart(): Split {
    const text = held.trimStart();
    if (text.length < opening.length && opening.startsWith(text)) return nothing;
    if (text.startsWith(opening)) {
      enter('thinking', text.slice(opening.length));
      return inThinking();
    }
    stage = 'answer';
    return inAnswer();
  }

  function inThinking(): Split {
    const text = withoutBreak(held);
    if (text === null) return nothing;
    const end = text.indexOf(closing);
    if (end === -1) {
      const kept = tagStart(text);
      held = text.slice(kept);
      return { reasoning: text.slice(0, kept), text: '' };
    }
    enter('answer', text.slice(end + closing.length));
    return { reasoning: text.slice(0, end), text: inAnswer().text };
  }

  function inAnswer(): Split {
    const text = withoutBreak(held);
    if (text === null) return nothing;
    held = '';
    return { reasoning: '', text };
  }

  return {
    push(piece) {
      held += piece;
      if (stage === 'start') return atStart();
      return stage === 'thinking' ? inThinking() : inAnswer();
    },
    end() {
      const rest = held;
      held = '';
      return stage === 'thinking' ? { reasoning: rest, text: '' } : { reasoning: '', text: rest };
    },
  };
}

/** Where a closing tag may have begun at the end of `text`; its length where none has. */
function tagStart(text: string): number {
  const at = text.lastIndexOf('<');
  return at !== -1 && closing.startsWith(text.slice(at)) ? at : text.length;
}
