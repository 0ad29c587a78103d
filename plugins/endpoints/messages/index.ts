/**
 * POST /v1/messages: the door that speaks the Messages API. This plugin reads the
 * caller's body and writes the answer; the pipeline does everything between the two.
 */
import { isCount } from '../../../core/chat.ts';
import type { ChatRequest } from '../../../core/chat.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { Policy } from '../../../core/config.ts';
import { noted, stands } from '../../../core/pipeline/context.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import { dialectNameOf } from '../../../core/wire/dialect.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { countedBy, encodeCount, estimated, parseCount } from './count.ts';
import { errorBody } from './encode/ending.ts';
import { encodeMessage } from './encode/message.ts';
import { createEncoder } from './encode/stream.ts';
import { form, parseMessages } from './parse/request.ts';
import { withThinking } from './unthinking.ts';

const name = 'endpoints/messages';

/** wire: every request of the SDKs has it (Anthropic: Versions) */
const clientHeader = 'anthropic-version';

/** Some clients have a base URL without /v1. */
const paths = ['/v1/messages', '/messages'];

const about: About = {
  summary: 'Answer a conversation in the form of the Messages API',
  body: 'MessagesRequest',
  answer: { 'application/json': 'MessagesReply', 'text/event-stream': 'MessagesEvent' },
  error: 'MessagesError',
};
const aboutCount: About = {
  summary: 'Count the tokens of a request',
  body: 'MessagesCountRequest',
  answer: { 'application/json': 'MessagesCount' },
  error: 'MessagesError',
};

export default definePlugin({
  name,
  summary: 'POST /v1/messages, plain and streamed, and /v1/messages/count_tokens',
  apply({ hooks, routes, dialects }) {
    const dialectOf = (candidate: Candidate): Dialect | undefined => dialects.get(dialectNameOf(candidate));
    // after normalise/reasoning, which gives an effort to requests that name none
    hooks.route.tap({ stage: LATE + 1 }, (candidates, { request }) =>
      withThinking(candidates, request, (candidate) => dialectOf(candidate)?.form === form),
    );
    const counts = (candidate: Candidate): boolean => dialectOf(candidate)?.counts === true;
    // a provider that cannot count tokens is not asked, and after all others the gateway estimates. This tap runs before
    // route/health and route/limits, because the targets of a request may rest, or have no room
    hooks.route.tap({ stage: LATE - 1 }, (candidates, { request }) =>
      isCount(request) ? withEstimate(candidates.map((candidate) => (counts(candidate) ? candidate : estimating(candidate)))) : candidates,
    );
    hooks.route.tap({ stage: LATE + 2 }, (candidates, { request, policy }) =>
      isCount(request) ? withinCalls(candidates, policy) : candidates,
    );
    const estimates = new WeakSet<ChatRequest>();
    hooks.open.tap({ stage: EARLY }, ({ request, attempt: { candidate } }) => {
      if (candidate.answeredBy !== name) return undefined;
      estimates.add(request);
      return estimated(request);
    });
    hooks.opened.tap((source, { request }) => (isCount(request) ? countedBy(source, request, () => estimates.add(request)) : source));
    hooks.reply.tap((reply, { path, request, headers }) => {
      if (headers[clientHeader] === undefined && !paths.some((own) => path.startsWith(own))) return reply;
      // the SDKs read the id of a request from this header
      return {
        ...reply,
        'request-id': reply['x-request-id'] ?? '',
        ...(request !== null && estimates.has(request) && { 'x-estimated': 'true' }),
      };
    });
    for (const path of paths) {
      routes.addDoor({
        path,
        parse: parseMessages,
        encoder: createEncoder,
        encode: encodeMessage,
        refusal: errorBody,
        clientHeader,
        about,
      });
      routes.addDoor({
        path: `${path}/count_tokens`,
        parse: parseCount,
        encoder: createEncoder,
        encode: encodeCount,
        refusal: errorBody,
        about: aboutCount,
      });
    }
  },
});

/** The candidate with the gateway as the one that answers; a candidate that the cache answers does not change. */
const estimating = (candidate: Candidate): Candidate => (candidate.answeredBy === null ? { ...candidate, answeredBy: name } : candidate);

/** The candidates, and behind them the estimate, unless the first of them is answered without a provider. */
function withEstimate(candidates: readonly Candidate[]): readonly Candidate[] {
  const first = candidates.find(stands);
  if (first === undefined || first.answeredBy !== null) return candidates;
  // safety: the estimate gets a copy of the mapping. After a failure, the core moves candidates with the same
  // mapping object behind all others, and the estimate would come after the last call that the policy allows
  const last = estimating({ ...first, mapping: { ...first.mapping }, isBehind: true });
  return [...candidates, noted(last, { by: name, text: 'estimates, where no provider has counted' })];
}

/** The candidates, with the estimate, which other plugins may have moved, as the last call that the policy allows. */
function withinCalls(candidates: readonly Candidate[], { maxAttempts }: Policy): readonly Candidate[] {
  const found = candidates.findIndex(({ answeredBy, isBehind }) => answeredBy === name && isBehind === true);
  const estimate = candidates[found];
  if (estimate === undefined) return candidates;
  const others = candidates.toSpliced(found, 1);
  const standing = others.flatMap((candidate, at) => (stands(candidate) ? [at] : []));
  // after a failure, the core would move a candidate that is still behind all others out of this place
  return others.toSpliced(standing[Math.max(1, maxAttempts - 1)] ?? others.length, 0, { ...estimate, isBehind: false });
}
