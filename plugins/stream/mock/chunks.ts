/**
 * Turns an answer into chunks and counts its tokens: reasoning, text, tool calls, one `finish` for each choice, and the usage at the end.
 */
import type { Chunk } from '../../../core/chat.ts';
import { unknownUsage } from '../../../core/chat.ts';
import type { MockAnswer } from './answer.ts';
import { pieces } from './tokens.ts';

/** The parts of a request that decide the form of its answer. */
export interface Shape {
  /** The ids of tool calls are made from this id. */
  readonly requestId: string;
  /** The number of answers (`n`). */
  readonly choices: number;
  /** Limit of each answer in tokens, reasoning included; null: no limit. */
  readonly maxTokens: number | null;
  /** Whether the reasoning text is sent. Its tokens are counted in both cases. */
  readonly showsReasoning: boolean;
}

interface Budget {
  readonly limit: number;
  spent: number;
  isCut: boolean;
}

/**
 * Generates the chunks of an answer; each is made only when it is read, so a long answer takes no memory. The choices come side by
 * side, a piece of each in turn, as those of a provider do.
 */
export function* toChunks(answer: MockAnswer, shape: Shape): Generator<Chunk, void> {
  const spent: Spent = { reasoning: 0, total: 0 };
  let running = Array.from({ length: shape.choices }, (_, choice) => ofChoice(choice, { answer, shape, spent }));
  while (running.length > 0) {
    const still: typeof running = [];
    for (const chunks of running) {
      const { value: chunk } = chunks.next();
      if (chunk === undefined) continue;
      yield chunk;
      still.push(chunks);
    }
    running = still;
  }
  const { reasoning, total } = spent;
  yield { type: 'usage', usage: { ...unknownUsage, input: answer.promptTokens, answer: total - reasoning, reasoning } };
}

/** Tokens of all choices. */
interface Spent {
  reasoning: number;
  total: number;
}

function* ofChoice(
  choice: number,
  { answer, shape, spent }: { readonly answer: MockAnswer; readonly shape: Shape; readonly spent: Spent },
): Generator<Chunk, void> {
  const budget: Budget = { limit: shape.maxTokens ?? Infinity, spent: 0, isCut: false };
  for (const text of within(budget, answer.reasoning)) if (shape.showsReasoning) yield { type: 'reasoning-delta', choice, text };
  spent.reasoning += budget.spent;
  for (const text of within(budget, answer.text)) yield { type: 'text-delta', choice, text };
  for (const [index, call] of answer.calls.entries()) {
    budget.isCut ||= budget.spent >= budget.limit;
    if (budget.isCut) break;
    const id = callId(shape.requestId, choice * answer.calls.length + index);
    yield { type: 'tool-start', choice, index, id, name: call.name };
    for (const fragment of within(budget, call.arguments)) yield { type: 'tool-delta', choice, index, arguments: fragment };
  }
  spent.total += budget.spent;
  yield finish(choice, budget.isCut, answer);
}

function* within(budget: Budget, text: string): Generator<string, void> {
  if (budget.isCut) return;
  for (const piece of pieces(text)) {
    budget.isCut = budget.spent >= budget.limit;
    if (budget.isCut) return;
    budget.spent++;
    yield piece;
  }
}

function finish(choice: number, isCut: boolean, { calls }: MockAnswer): Chunk {
  if (isCut) return { type: 'finish', choice, reason: 'length_limit', native: 'length' };
  if (calls.length > 0) return { type: 'finish', choice, reason: 'tool_calls', native: 'tool_calls' };
  return { type: 'finish', choice, reason: 'completed', native: 'stop' };
}

// wire: a conversation may continue at another provider. OpenAI takes
// ids of at most 40 characters; Anthropic takes letters, digits, _ and -
const callId = (requestId: string, number: number): string => `call_${requestId.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-32)}${number}`;
