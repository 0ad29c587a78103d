/** Changes the text of an answer on its way out, although the text comes in pieces: a rewriter holds back what must not go out yet. */
import type { Chunk } from '../chat.ts';
import { textKinds } from '../chat.ts';
import type { ChunkSource } from './hooks.ts';

/** Changes one text. It gets all of the text in order, cut at any places. */
export interface TextRewriter {
  /** Takes the next piece. Gives what may go out now, which may be nothing, or more than came. */
  push(piece: string): string;
  /** The text has ended, or another kind of piece follows: gives what was held back. */
  end(): string;
}

/** Identifies a text: the answer, the reasoning or a refusal, of one of the answers that were asked for. */
export interface TextOf {
  readonly kind: 'text' | 'reasoning' | 'refusal';
  /** From 0. */
  readonly choice: number;
}

type TextChunk = Extract<Chunk, { type: keyof typeof textKinds }>;

const isText = (chunk: Chunk): chunk is TextChunk => Object.hasOwn(textKinds, chunk.type);

/**
 * A source whose texts go through rewriters, for a tap of `opened`. What a rewriter holds back goes out before the next piece of
 * another kind of the same answer, and at the end of the answer. `extra` (`logprobs`), `usage`, and `native` without `isBoundary` pass by.
 * @param create a rewriter for a text that begins; null leaves that text as it is
 */
export function rewriteText(source: ChunkSource, create: (text: TextOf) => TextRewriter | null): ChunkSource {
  const answers = new Map<number, Rewriting>();
  let isOver = false;
  const rewritten = (chunk: Chunk): Chunk[] => {
    if (chunk.type === 'usage' || chunk.type === 'extra' || (chunk.type === 'native' && chunk.isBoundary !== true)) return [chunk];
    const answer = answers.get(chunk.choice) ?? new Rewriting(chunk.choice, create);
    answers.set(chunk.choice, answer);
    return isText(chunk) ? answer.text(chunk) : [...answer.flush(), chunk];
  };
  return {
    adjustments: source.adjustments,
    cancel: () => source.cancel(),
    async read() {
      const chunks = isOver ? null : await source.read();
      isOver = chunks === null;
      if (chunks !== null) return chunks.flatMap(rewritten);
      const rest = [...answers.values()].flatMap((answer) => answer.flush());
      return rest.length > 0 ? rest : null;
    },
  };
}

/** One answer: the text that is being rewritten, one kind at a time. */
class Rewriting {
  readonly #choice: number;
  readonly #create: (text: TextOf) => TextRewriter | null;
  #type: TextChunk['type'] | null = null;
  #rewriter: TextRewriter | null = null;

  constructor(choice: number, create: (text: TextOf) => TextRewriter | null) {
    this.#choice = choice;
    this.#create = create;
  }

  text(chunk: TextChunk): Chunk[] {
    const before = chunk.type === this.#type ? [] : this.flush();
    if (chunk.type !== this.#type) {
      this.#type = chunk.type;
      this.#rewriter = this.#create({ kind: textKinds[chunk.type], choice: this.#choice });
    }
    return [...before, ...(this.#rewriter === null ? [chunk] : this.#pieces(chunk.type, this.#rewriter.push(chunk.text)))];
  }

  /** What is held back. The next text begins with a new rewriter. */
  flush(): Chunk[] {
    const [type, rewriter] = [this.#type, this.#rewriter];
    this.#type = null;
    this.#rewriter = null;
    return type === null || rewriter === null ? [] : this.#pieces(type, rewriter.end());
  }

  #pieces(type: TextChunk['type'], text: string): Chunk[] {
    return text === '' ? [] : [{ type, choice: this.#choice, text }];
  }
}
