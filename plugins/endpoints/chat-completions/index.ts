/**
 * POST /v1/chat/completions: the door that speaks the chat completions API, and POST /v1/completions for older clients. This plugin reads the caller's body and writes the
 * answer; the pipeline does everything between the two.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { isFields } from '../../../core/wire/fields.ts';
import { completionsDoor } from './completions.ts';
import { createEncoder, encodeReply } from './encode.ts';
import { parseChatRequest } from './parse.ts';

const chatDoor = { parse: parseChatRequest, encoder: createEncoder, encode: encodeReply };

export default definePlugin({
  name: 'endpoints/chat-completions',
  summary: 'POST /v1/chat/completions, plain and streamed, and /v1/completions for older clients',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes }) {
    // some clients have a base URL without /v1
    for (const path of ['/v1/chat/completions', '/chat/completions']) routes.addDoor({ path, ...chatDoor });
    // the clients of Azure name the model in the path, below /openai
    routes.addDoor({ ...chatDoor, path: '/:host/deployments/:model/chat/completions', parse: (body, _, { model }) => parseChatRequest(isFields(body) ? { ...body, model } : body) });
    for (const path of ['/v1/completions', '/completions']) routes.addDoor({ path, ...completionsDoor });
  },
});
