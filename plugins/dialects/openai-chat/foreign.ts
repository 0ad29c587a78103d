/** Requests from callers of another wire format: removes and reports what this API refuses and its own callers would not send. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, ContentPart, Message, Tool } from '../../../core/chat.ts';
import type { Vendor } from './habits.ts';

/**
 * A request that came through another door, in the form that the vendor takes. `adjust` notes each parameter that is left out.
 */
export function withoutForeign(
  request: ChatRequest,
  { takesCacheControl = false, takesTopK = false }: Vendor,
  adjust: Adjust,
): ChatRequest {
  if (request.form === undefined) return request;
  const refused = new Set(takesCacheControl ? ['is_error'] : ['is_error', 'cache_control']);
  const plain = <Item extends object>(item: Item, where: string): Item => {
    const names = Object.keys(item).filter((name) => refused.has(name));
    for (const name of names) adjust(`${where}.${name}`, 'dropped');
    return names.length === 0 ? item : (Object.fromEntries(Object.entries(item).filter(([name]) => !refused.has(name))) as Item);
  };
  const messages = withShownImages(request.messages).map((message) => ({
    ...plain(message, 'messages'),
    ...(Array.isArray(message.content) && {
      content: (message.content as readonly ContentPart[]).map((part) => plain(part, 'messages.content')),
    }),
    ...(message.tool_calls !== undefined && { tool_calls: message.tool_calls.map((call) => plain(call, 'messages.tool_calls')) }),
  }));
  const { top_k: topK, ...others } = request.rest;
  if (topK !== undefined && !takesTopK) adjust('top_k', 'dropped');
  return {
    ...request,
    messages,
    tools: request.tools?.map((tool): Tool => plain(tool, 'tools')) ?? null,
    rest: takesTopK ? request.rest : others,
  };
}

const isText = ({ type }: ContentPart): boolean => type === 'text';

/**
 * wire: a tool message takes text only (OpenAI: Chat completions, error text of
 * `image_url`). What else a tool gave goes into a user message after the results.
 */
function withShownImages(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(isPictured)) return messages;
  const shown: Message[] = [];
  let parts: ContentPart[] = [];
  for (const message of messages) {
    if (message.role !== 'tool' && parts.length > 0) {
      shown.push({ role: 'user', content: parts });
      parts = [];
    }
    if (isPictured(message)) {
      const content = message.content as readonly ContentPart[];
      const texts = content.filter(isText);
      parts.push({ type: 'text', text: `The tool call ${message.tool_call_id ?? ''} gave this:` });
      // safety: `parts.push(...content)` would overflow the stack where the list is long
      for (const part of content) if (!isText(part)) parts.push(part);
      shown.push({ ...message, content: texts.length > 0 ? texts : 'See the next message.' });
    } else shown.push(message);
  }
  return parts.length === 0 ? shown : [...shown, { role: 'user', content: parts }];
}

const isPictured = ({ role, content }: Message): boolean =>
  role === 'tool' && Array.isArray(content) && !(content as readonly ContentPart[]).every(isText);
