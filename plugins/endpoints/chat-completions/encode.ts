/** An answer in the shape of the chat completions API, whole or as a stream of events. */
import { completionTokens, promptTokens, totalTokens } from '../../../core/chat.ts';
import type { Chunk, FinishReason, Usage } from '../../../core/chat.ts';
import type { Encoder, FoldedChoice, FoldedToolCall, Reply, ReplyHead } from '../../../core/reply.ts';

const openaiWords: Readonly<Record<FinishReason, string>> = { completed: 'stop', length_limit: 'length', tool_calls: 'tool_calls', content_filter: 'content_filter' };

const wordOf = (reason: FinishReason | null, { finishReason }: ReplyHead): string | null => (reason === null ? null : finishReason === 'unified' ? reason : openaiWords[reason]);

/** Counts that the provider did not give are left out; null when it gave none. */
export function usageOf(usage: Usage): object | null {
  const prompt = promptTokens(usage);
  const completion = completionTokens(usage);
  if (prompt === null && completion === null) return null;
  const { reasoning, cacheRead, cacheWrite } = usage;
  return {
    ...(prompt !== null && { prompt_tokens: prompt }),
    ...(completion !== null && { completion_tokens: completion }),
    ...(prompt !== null && completion !== null && { total_tokens: totalTokens(usage) }),
    ...(reasoning !== null && { reasoning_tokens: reasoning, completion_tokens_details: { reasoning_tokens: reasoning } }),
    ...((cacheRead !== null || cacheWrite !== null) && { prompt_tokens_details: { ...(cacheRead !== null && { cached_tokens: cacheRead }), ...(cacheWrite !== null && { cache_write_tokens: cacheWrite }) } }),
  };
}

export function encodeReply(reply: Reply, head: ReplyHead): string {
  const usage = usageOf(reply.usage);
  return JSON.stringify({
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: reply.choices.map((choice, index) => ({ index, message: messageOf(choice), ...extrasOn('choice', choice), finish_reason: wordOf(choice.finish, head) })),
    ...(usage !== null && { usage }),
  });
}

function messageOf(choice: FoldedChoice): object {
  const { text, reasoning, refusal, details, toolCalls } = choice;
  return {
    role: 'assistant',
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(refusal !== '' && { refusal }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(encodeCall) }),
    ...extrasOn('message', choice),
  };
}

const encodeCall = ({ id, name, arguments: input }: FoldedToolCall): object => ({ id, type: 'function', function: { name, arguments: input } });

const extrasOn = (place: 'choice' | 'message', { extras }: FoldedChoice): object => Object.fromEntries(extras.filter(({ on }) => on === place).map(({ field, value }) => [field, value]));

/**
 * cost: the parts of an event that never change are serialised once for the stream, the rest is put together as text:
 * a third of the time of JSON.stringify on the whole object (test/bench).
 */
export function createEncoder(head: ReplyHead): Encoder {
  const opening = `data: ${JSON.stringify({ id: head.id, object: 'chat.completion.chunk', created: head.created, model: head.model }).slice(0, -1)},"choices":[`;
  const begun: boolean[] = [];
  const finishes = new Map<number, FinishReason>();
  let usage: object | null = null;

  const event = (choice: number, delta: string, more = ''): string => {
    const role = begun[choice] === true ? '' : `"role":"assistant"${delta === '' ? '' : ','}`;
    begun[choice] = true;
    return `${opening}{"index":${choice},"delta":{${role}${delta}}${more},"finish_reason":null}]}\n\n`;
  };

  const finish = ([choice, reason]: [number, FinishReason], last: boolean): string => {
    const role = begun[choice] === true ? '' : '"role":"assistant","content":""';
    const counted = last && usage !== null && !head.includeUsage ? `,"usage":${JSON.stringify(usage)}` : '';
    return `${opening}{"index":${choice},"delta":{${role}},"finish_reason":"${wordOf(reason, head)}"}]${counted}}\n\n`;
  };

  const encode = (chunk: Chunk): string => {
    switch (chunk.type) {
      case 'text-delta':
        return event(chunk.choice, `"content":${JSON.stringify(chunk.text)}`);
      case 'reasoning-delta': {
        const text = JSON.stringify(chunk.text);
        return event(chunk.choice, `"reasoning":${text},"reasoning_content":${text}`);
      }
      case 'tool-start':
        return event(chunk.choice, `"tool_calls":[{"index":${chunk.index},"id":${JSON.stringify(chunk.id)},"type":"function","function":{"name":${JSON.stringify(chunk.name)},"arguments":""}}]`);
      case 'tool-delta':
        return event(chunk.choice, `"tool_calls":[{"index":${chunk.index},"function":{"arguments":${JSON.stringify(chunk.arguments)}}}]`);
      case 'refusal-delta':
        return event(chunk.choice, `"refusal":${JSON.stringify(chunk.text)}`);
      case 'reasoning-detail':
        return event(chunk.choice, `"reasoning_details":[${JSON.stringify(chunk.detail)}]`);
      case 'extra': {
        const field = `${JSON.stringify(chunk.field)}:${JSON.stringify(chunk.value)}`;
        return chunk.on === 'message' ? event(chunk.choice, field) : event(chunk.choice, '', `,${field}`);
      }
      // held back to the end, so that the finish can carry the usage that comes after it
      case 'finish':
        finishes.set(chunk.choice, chunk.reason);
        return '';
      case 'usage':
        usage = usageOf(chunk.usage);
        return '';
      default:
        return chunk satisfies never;
    }
  };

  return {
    chunks(chunks) {
      let text = '';
      for (const chunk of chunks) text += encode(chunk);
      return text;
    },
    end() {
      const list = [...finishes];
      const finished = list.map((entry, at) => finish(entry, at === list.length - 1)).join('');
      const counted = head.includeUsage && usage !== null ? `${opening}],"usage":${JSON.stringify(usage)}}\n\n` : '';
      return `${finished}${counted}data: [DONE]\n\n`;
    },
    error: (body) => `data: ${JSON.stringify(body)}\n\n`,
  };
}
