/**
 * POST /v1/completions, for clients from before chats: the prompt becomes the one message of a user, and the text of the answer comes
 * back. Parameters that a chat cannot honour, such as `echo`, are refused.
 */
import type { ChatRequest, Chunk, FinishReason, Usage } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { About, Door, Encoder, ReplyHead } from '../../../core/pipeline/door.ts';
import type { Reply } from '../../../core/pipeline/reply.ts';
import { missing } from '../../../core/wire/checks.ts';
import { isFields } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { usageOf, wordOf } from './encode.ts';
import { parseChatRequest } from './parse.ts';
import type { TextCompletion } from './wire.ts';

/** The parameters that this endpoint refuses, each with the values that it accepts because they ask for nothing. */
const refused: Readonly<Record<string, readonly unknown[]>> = {
  echo: [false],
  suffix: [''],
  logprobs: [],
  best_of: [1],
  tools: [],
  functions: [],
  messages: [],
};

const about: About = {
  summary: 'Continue a text, for clients from before chats',
  body: 'CompletionRequest',
  answer: { 'application/json': 'TextCompletion', 'text/event-stream': ['TextCompletion', 'ErrorReply'] },
};

export const completionsDoor: Omit<Door, 'path'> = {
  parse: parseCompletion,
  encoder: (head) => new CompletionEncoder(head),
  encode: encodeCompletion,
  about,
};

function parseCompletion(body: unknown): ChatRequest {
  if (!isFields(body)) return parseChatRequest(body);
  const { prompt, ...others } = body;
  for (const [param, harmless] of Object.entries(refused)) {
    const value = others[param] ?? null;
    if (value !== null && !harmless.includes(value)) {
      throw new GatewayError(
        'unsupported_value',
        `"${param}" is not supported on /v1/completions, because models are asked as chats. Leave it out, or use POST /v1/chat/completions.`,
        { param },
      );
    }
  }
  const kept = Object.fromEntries(Object.entries(others).filter(([param]) => !Object.hasOwn(refused, param)));
  return parseChatRequest({ ...kept, messages: [{ role: 'user', content: promptOf(prompt) }] } satisfies Fields);
}

function promptOf(prompt: unknown): string {
  const one = Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] as unknown) : prompt;
  if (typeof one === 'string') return one;
  if (one === undefined || one === null) throw missing('prompt', 'a text');
  throw new GatewayError('unsupported_value', '"prompt" must be one text. Send several prompts as several requests, and tokens as text.', {
    param: 'prompt',
  });
}

const headOf = ({ id, created, model }: ReplyHead): Omit<TextCompletion, 'choices' | 'usage'> => ({
  id: `cmpl-${id}`,
  object: 'text_completion',
  created,
  model,
});
const choiceOf = (index: number, text: string, reason: string | null): TextCompletion['choices'][number] => ({
  index,
  text,
  logprobs: null,
  finish_reason: reason,
});

function encodeCompletion({ choices, usage }: Reply, head: ReplyHead): string {
  const counts = usageOf(usage);
  return JSON.stringify({
    ...headOf(head),
    choices: choices.map(({ text, refusal, finish }, index) => choiceOf(index, text + refusal, wordOf(finish, head))),
    ...(counts !== null && { usage: counts }),
  } satisfies TextCompletion);
}

class CompletionEncoder implements Encoder {
  readonly #head: ReplyHead;
  readonly #opening: string;
  readonly #finishes = new Map<number, FinishReason>();
  #usage: Usage | null = null;

  constructor(head: ReplyHead) {
    this.#head = head;
    this.#opening = `data: ${JSON.stringify(headOf(head)).slice(0, -1)},"choices":`;
  }

  chunks(chunks: readonly Chunk[]): string {
    let text = '';
    for (const chunk of chunks) {
      // the format has no other place for the words of a refusal. cost: JSON.stringify of the whole choice takes twice as long
      if (chunk.type === 'text-delta' || chunk.type === 'refusal-delta') {
        text += `${this.#opening}[{"index":${chunk.choice},"text":${JSON.stringify(chunk.text)},"logprobs":null,"finish_reason":null}]}\n\n`;
      } else if (chunk.type === 'finish') this.#finishes.set(chunk.choice, chunk.reason);
      else if (chunk.type === 'usage') this.#usage = chunk.usage;
    }
    return text;
  }

  end(): string {
    const finishes = Array.from(this.#finishes, ([choice, reason]) => this.#event([choiceOf(choice, '', wordOf(reason, this.#head))]));
    const counts = this.#head.request.includeUsage && this.#usage !== null ? usageOf(this.#usage) : null;
    return `${finishes.join('')}${counts === null ? '' : this.#event([], `,"usage":${JSON.stringify(counts)}`)}data: [DONE]\n\n`;
  }

  error(error: GatewayError): string {
    return `data: ${JSON.stringify(error.body())}\n\n`;
  }

  #event(choices: readonly object[], more = ''): string {
    return `${this.#opening}${JSON.stringify(choices)}${more}}\n\n`;
  }
}
