/**
 * POST /v1/chat/completions: the door that speaks the chat completions API, and POST /v1/completions for older
 * clients. This plugin reads the caller's body and writes the answer; the pipeline does everything between the two.
 */
import type { ChatRequest } from '../../../core/chat.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { withModelOfPath } from '../../../core/pipeline/door.ts';
import type { About, Door } from '../../../core/pipeline/door.ts';
import { completionsDoor } from './completions.ts';
import { createEncoder, encodeReply } from './encode.ts';
import { parseChatRequest } from './parse.ts';

const about: About = {
  summary: 'Answer a chat',
  body: 'ChatCompletionRequest',
  answer: { 'application/json': 'ChatCompletion', 'text/event-stream': ['ChatCompletionChunk', 'ErrorReply'] },
};

const chatDoor: Omit<Door, 'path'> = {
  parse: (body, headers) => withUsageApart(parseChatRequest(body), headers),
  encoder: createEncoder,
  encode: encodeReply,
  about,
};

/**
 * wire: the accumulator of openai-java 4.101 reads nothing but the usage of an event that has one, so it must not be the event with the
 * finish reason. What other clients read and where: README.md.
 */
const withUsageApart = (
  request: ChatRequest,
  { 'x-stainless-lang': language }: Readonly<Record<string, string | undefined>>,
): ChatRequest =>
  language === 'java' && request.stream && !request.includeUsage ? { ...request, door: { ...request.door, usage_apart: true } } : request;

export default definePlugin({
  name: 'endpoints/chat-completions',
  summary: 'POST /v1/chat/completions, plain and streamed, and /v1/completions for older clients',
  apply({ routes }) {
    // some clients have a base URL without /v1
    for (const path of ['/v1/chat/completions', '/chat/completions']) routes.addDoor({ path, ...chatDoor });
    // the clients of Azure name the model in the path, below /openai
    routes.addDoor(withModelOfPath({ path: '/:host/deployments/:model/chat/completions', ...chatDoor }));
    for (const path of ['/v1/completions', '/completions']) routes.addDoor({ path, ...completionsDoor });
    routes.addDoor(withModelOfPath({ path: '/:host/deployments/:model/completions', ...completionsDoor }));
  },
});
