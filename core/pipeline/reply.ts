/** A whole answer, added up from its chunks: the reply to a caller who did not ask for a stream, and what the record keeps. */
import type { Chunk, FinishReason, ReasoningDetail, Usage } from '../chat.ts';
import { isFields } from '../wire/fields.ts';

export interface FoldedToolCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

export interface FoldedChoice {
  text: string;
  reasoning: string;
  refusal: string;
  readonly details: ReasoningDetail[];
  readonly toolCalls: FoldedToolCall[];
  readonly extras: { on: 'choice' | 'message'; field: string; value: unknown }[];
  finish: FinishReason | null;
  native: string | null;
}

const newChoice = (): FoldedChoice => ({ text: '', reasoning: '', refusal: '', details: [], toolCalls: [], extras: [], finish: null, native: null });

const unknownUsage: Usage = { input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: null, reasoning: null };

/** A tool call, a reasoning detail or an extra field counts as so many characters, beside the text that it holds. */
const notText = 200;

export class Reply {
  readonly choices: FoldedChoice[] = [];
  usage: Usage = unknownUsage;
  /** Characters of the answer so far. */
  size = 0;

  choice(at: number): FoldedChoice {
    while (this.choices.length <= at) this.choices.push(newChoice());
    return this.choices[at] as FoldedChoice;
  }

  /** Every answer that was begun has ended. */
  get finished(): boolean {
    return this.choices.length > 0 && this.choices.every((choice) => choice.finish !== null);
  }

  get isEmpty(): boolean {
    return this.choices.length === 0;
  }

  add(chunk: Chunk): void {
    if (chunk.type === 'usage') {
      this.usage = chunk.usage;
      return;
    }
    const choice = this.choice(chunk.choice);
    switch (chunk.type) {
      case 'text-delta':
        choice.text += chunk.text;
        this.size += chunk.text.length;
        break;
      case 'reasoning-delta':
        choice.reasoning += chunk.text;
        this.size += chunk.text.length;
        break;
      case 'refusal-delta':
        choice.refusal += chunk.text;
        this.size += chunk.text.length;
        break;
      case 'reasoning-detail':
        choice.details.push(chunk.detail);
        this.size += notText + (chunk.detail.text?.length ?? 0) + (chunk.detail.data?.length ?? 0);
        break;
      case 'tool-start':
        choice.toolCalls[chunk.index] = { id: chunk.id, name: chunk.name, arguments: '' };
        this.size += notText + chunk.name.length;
        break;
      case 'tool-delta': {
        const call = choice.toolCalls[chunk.index];
        if (call !== undefined) call.arguments += chunk.arguments;
        this.size += chunk.arguments.length;
        break;
      }
      case 'extra':
        addExtra(choice, chunk);
        this.size += notText;
        break;
      case 'finish':
        choice.finish = chunk.reason;
        choice.native = chunk.native;
        break;
      default:
        chunk satisfies never;
    }
  }
}

/** A later value of the same field replaces the earlier one, lists grow, and `logprobs` grows inside. */
function addExtra(choice: FoldedChoice, { on, field, value }: Chunk & { type: 'extra' }): void {
  const before = choice.extras.find((extra) => extra.on === on && extra.field === field);
  if (before === undefined) choice.extras.push({ on, field, value });
  else before.value = joined(before.value, value);
}

function joined(first: unknown, second: unknown): unknown {
  if (Array.isArray(first) && Array.isArray(second)) return [...(first as unknown[]), ...(second as unknown[])];
  if (isFields(first) && isFields(second)) {
    const both: Record<string, unknown> = { ...first };
    for (const [field, value] of Object.entries(second)) both[field] = field in both ? joined(both[field], value) : value;
    return both;
  }
  return second;
}
