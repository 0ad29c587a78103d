/**
 * Operations of this API that the gateway does not have. Without these endpoints, the
 * gateway would take their paths for ids of responses, and a POST for a wrong method.
 */
import { GatewayError } from '../../../core/errors.ts';
import type { Endpoint } from '../../../core/http/routes.ts';

/**
 * wire: Codex calls `compact` at the vendor of this API, and compacts
 * the conversation itself at other model providers (openai/codex#19400, 2026-04)
 */
const absent = {
  compact: [
    'Refused: the gateway compacts no conversations',
    'The gateway compacts no conversations. Send the items that are still needed in "input". Codex does so by itself where its config.toml names the gateway as a model provider of its own.',
  ],
  input_tokens: [
    'Refused: the gateway counts no tokens in this form',
    'The gateway counts no tokens in the form of this API. POST /v1/messages/count_tokens counts those of a request in the form of the Messages API.',
  ],
} as const;

export const absentUnder = (path: string): readonly Endpoint[] =>
  Object.entries(absent).map(([name, [summary, message]]): Endpoint => ({
    method: 'POST',
    path: `${path}/${name}`,
    about: { summary, answer: { 'application/json': 'ErrorReply' }, status: [404] },
    handle() {
      throw new GatewayError('unknown_url', message);
    },
  }));
