/** Requests from callers of another wire format: removes and reports what this API refuses and its own callers would not send. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, ContentPart, Tool } from '../../../core/chat.ts';
import type { Vendor } from './habits.ts';
import { withMediaBehind, without } from './messages.ts';

/**
 * A request that came through another door, in the form that the vendor takes. `adjust` notes each parameter that is left out.
 */
export function withoutForeign(
  request: ChatRequest,
  { takesCacheControl = false, takesTopK = false }: Vendor,
  adjust: Adjust,
): ChatRequest {
  if (request.form === undefined) return request;
  const refused = takesCacheControl ? ['is_error'] : ['is_error', 'cache_control'];
  const plain = <Item extends object>(item: Item, where: string): Item =>
    without(item, refused, (name) => adjust(`${where}.${name}`, 'dropped'));
  // wire: a tool message takes text only (OpenAI: Chat completions, error text of `image_url`)
  const messages = withMediaBehind(request.messages).map((message) => ({
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
