/**
 * Operations of this API that the gateway does not have. Without these endpoints, the gateway would take some of
 * their paths for ids of responses, a POST for a wrong method, and would answer to the others with a hint to another API.
 */
import { GatewayError } from '../../../core/errors.ts';
import type { Endpoint } from '../../../core/http/routes.ts';
import { unsupported } from './checks.ts';

const absentOf = (message: string) => (): GatewayError => new GatewayError('unknown_url', message);

/**
 * wire: Codex calls `compact` at the vendor of this API, and compacts
 * the conversation itself at other model providers (openai/codex#19400, 2026-04)
 */
const noCompacting = absentOf(
  'The gateway compacts no conversations. Send the items that are still needed in "input". Codex does so by itself where its config.toml names the gateway as a model provider of its own.',
);
const noCount = absentOf(
  'The gateway counts no tokens in the form of this API. POST /v1/messages/count_tokens counts those of a request in the form of the Messages API.',
);
const noConversations = absentOf(
  'The gateway keeps no conversations. Go on from a kept response with "previous_response_id" in POST /v1/responses, or send the items in "input". GET /v1/responses/{id}/input_items lists those of a kept response.',
);
/** A response that is being made is not kept yet, so this error needs no look-up: for every id it is true. */
const noCancelling = (): GatewayError =>
  unsupported(
    'id',
    'Only a response in the background can be cancelled, and the gateway answers no requests in the background. To stop an answer, close its connection.',
  );

type Absent = readonly [method: Endpoint['method'], path: string, summary: string, error: () => GatewayError];

const absent: readonly Absent[] = [
  ['POST', '/responses/compact', 'Refused: the gateway compacts no conversations', noCompacting],
  ['POST', '/responses/input_tokens', 'Refused: the gateway counts no tokens in this form', noCount],
  ['POST', '/responses/:id/cancel', 'Refused: the gateway answers no requests in the background', noCancelling],
  ['POST', '/conversations', 'Refused: the gateway keeps no conversations', noConversations],
  ...(['GET', 'POST', 'DELETE'] as const).map((method): Absent => [
    method,
    '/conversations/**:rest',
    'Refused: the gateway keeps no conversations',
    noConversations,
  ]),
];

export const absentUnder = (prefix: string): readonly Endpoint[] =>
  absent.map(([method, path, summary, error]): Endpoint => ({
    method,
    path: `${prefix}${path}`,
    about: { summary, answer: { 'application/json': 'ErrorReply' }, status: [error().status] },
    handle() {
      throw error();
    },
  }));
