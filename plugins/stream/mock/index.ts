/**
 * The mock provider: answers at `open` without a network. It is there for the first request of a newcomer, for tests, and for
 * trying failures. It repeats the last user text, or does what instructions in that text say (`[[status:503]]`; README.md lists
 * them). It answers only for providers whose dialect is `mock`. Nothing is random: the same request gives the same answer.
 */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { drop } from '../../../core/pipeline/context.ts';
import type { Candidate, Streaming } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { EARLY, sourceOf } from '../../../core/pipeline/hooks.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { composeAnswer } from './answer.ts';
import { toChunks } from './chunks.ts';
import { breakFor, statusFor } from './failures.ts';
import { last, parsePrompt } from './prompt.ts';
import { createPause, createSource } from './source.ts';
import { vectorChunks } from './vectors.ts';
import { dialectNameOf } from '../../../core/wire/dialect.ts';
import { thawed } from '../../../core/wire/fields.ts';

const schema = {
  type: 'object',
  description: 'The mock provider: answers without a network.',
  properties: {
    pace_ms: {
      type: 'integer',
      minimum: 0,
      maximum: 60_000,
      default: 15,
      description:
        'Milliseconds between two pieces of a streamed answer; 0 sends them as fast as they are read. Plain answers have no pause.',
    },
  },
  additionalProperties: false,
} as const satisfies JSONSchema;

type Options = FromSchema<typeof schema>;

const mostAnswers = 128;

/** The plugin `stream/mock`. It supplies the chunks of attempts at providers whose dialect is `mock`. */
export default definePlugin<Options>({
  name: 'stream/mock',
  summary: 'answers for `mock` providers: repeats the prompt, reasons, calls tools, and fails on request',
  schema,
  serves: ['mock'],
  apply(gateway, { pace_ms: paceMs }) {
    if ([...gateway.config.providers.values()].some(({ missing, dialect }) => missing === null && dialect !== 'mock')) {
      gateway.hooks.route.tap({ stage: EARLY }, withoutMock);
    }
    gateway.hooks.open.tap((context) => (isMock(context.attempt.candidate) ? open(context, paceMs) : undefined));
  },
});

const isMock = (candidate: Candidate): boolean => dialectNameOf(candidate) === 'mock';

/** safety: once a provider is on, a caller who wants a model gets an error where it is down, and not an echo of the prompt. */
function withoutMock(candidates: readonly Candidate[]): readonly Candidate[] {
  const all = thawed(candidates);
  if (!all.some(isMock) || all.every(isMock)) return candidates;
  return candidates.map((candidate) =>
    isMock(candidate)
      ? drop(candidate, { by: 'stream/mock', reason: 'the mock does not replace a real provider', error: null })
      : candidate,
  );
}

async function open(context: Streaming, defaultPaceMs: number): Promise<ChunkSource> {
  const { request, attempt } = context;
  if (request.ask?.kind === 'embeddings') return sourceOf(vectorChunks(request, request.ask));
  refuseUnsupported(context);
  const prompt = parsePrompt(request.messages);
  const delayMs = last(prompt, 'delay')?.number ?? 0;
  const failure = statusFor(prompt, attempt);
  if (failure !== null) {
    if (delayMs > 0) await createPause(attempt.signal).wait(delayMs);
    throw failure;
  }
  const ability = attempt.candidate.mapping.reasoning;
  const choices = request.n ?? 1;
  return createSource({
    chunks: toChunks(composeAnswer(context, prompt), {
      requestId: context.id,
      choices,
      maxTokens: request.maxTokens,
      showsReasoning: ability?.exposes === 'text',
    }),
    choices,
    delayMs,
    paceMs: last(prompt, 'pace')?.number ?? (request.stream ? defaultPaceMs : 0),
    breaks: breakFor(prompt, attempt),
    signal: attempt.signal,
  });
}

/**
 * Throws the errors that a provider would answer with: `invalid_value` for a
 * wrong `n`, `unsupported_value` for an effort that the mapping does not list.
 */
function refuseUnsupported({ request, attempt: { candidate, reasoning } }: Streaming): void {
  if (request.n !== null && (!Number.isInteger(request.n) || request.n < 1 || request.n > mostAnswers)) {
    throw new GatewayError('invalid_value', `"n" must be a whole number from 1 to ${mostAnswers}.`, { param: 'n', upstreamStatus: 400 });
  }
  const efforts = candidate.mapping.reasoning?.efforts ?? null;
  const { effort } = reasoning;
  if (efforts === null || effort === null || effort === 'none' || efforts.includes(effort)) return;
  const message = `Unsupported value: "${effort}" is not supported with the model "${candidate.model.id}". Supported values are: ${efforts.join(', ')}.`;
  throw new GatewayError('unsupported_value', message, { param: 'reasoning_effort', upstreamStatus: 400 });
}
