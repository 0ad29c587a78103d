/**
 * POST /v1/chat/completions: the front door that speaks the chat completions API. It reads the caller's body and writes the
 * answer; everything between is the pipeline's.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { createEncoder, encodeReply } from './encode.ts';
import { parseChatRequest } from './parse.ts';

export default definePlugin({
  name: 'endpoints/chat-completions',
  summary: 'POST /v1/chat/completions, plain and streamed',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes }) {
    // some clients are given a base URL without /v1
    for (const path of ['/v1/chat/completions', '/chat/completions']) routes.addDoor({ path, parse: parseChatRequest, encoder: createEncoder, encode: encodeReply });
  },
});
