/**
 * Drops candidates that cannot do what the request asks for: reasoning, an explicit budget, tools, images, a stream. It acts at
 * `route`. When no candidate is left, the error tells the caller what no provider of the model can do.
 */
import { reasoningField } from '../../core/chat.ts';
import type { ChatRequest, Reasoning } from '../../core/chat.ts';
import type { Candidate } from '../../core/pipeline/context.ts';
import { drop } from '../../core/pipeline/context.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { GatewayError } from '../../core/errors.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { hasImages } from '../../core/wire/turns.ts';

const name = 'route/capability';

/** Something that a request may ask for, and the error for callers where no candidate can do it. */
interface Need {
  readonly isAsked: (request: ChatRequest) => boolean;
  readonly isMet: (candidate: Candidate) => boolean;
  /** Why the candidate is dropped, for the log. */
  readonly reason: string;
  readonly code: ErrorCode;
  readonly param: string | ((reasoning: Reasoning) => string);
  /** @param sent the name under which the caller sent the parameter, where it has another one */
  readonly message: (model: string, sent: string) => string;
}

const sentAs = (sent: string, usual: string): string => (sent === usual ? '' : ` (sent as "${sent}")`);

const givesVectors = ({ model }: Candidate): boolean => model.architecture.output_modalities.includes('embeddings');

const needs: readonly Need[] = [
  {
    isAsked: ({ ask }) => ask?.kind === 'embeddings',
    isMet: givesVectors,
    reason: 'gives no embeddings',
    code: 'model_not_supported',
    param: 'model',
    message: (model) => `The model "${model}" gives no embeddings. GET /v1/models lists those that do, with output_modalities: [embeddings].`,
  },
  {
    isAsked: ({ ask }) => ask?.kind !== 'embeddings',
    isMet: (candidate) => !givesVectors(candidate),
    reason: 'gives embeddings only',
    code: 'model_not_supported',
    param: 'model',
    message: (model) => `The model "${model}" gives embeddings and no text. Ask it by POST /v1/embeddings.`,
  },
  {
    isAsked: ({ reasoning }) => reasoning.maxTokens !== null,
    isMet: ({ mapping }) => mapping.reasoning?.max_tokens === true,
    reason: 'takes no reasoning budget',
    code: 'model_not_supported',
    param: reasoningField,
    message: (model, sent) => `The model "${model}" does not support an explicit reasoning budget. Remove the "reasoning" parameter${sentAs(sent, 'reasoning.max_tokens')}, or use a model that supports explicit budgets (reasoning.max_tokens).`,
  },
  {
    isAsked: ({ reasoning }) => reasoning.effort !== null,
    isMet: ({ mapping }) => mapping.reasoning !== null,
    reason: 'does not reason',
    code: 'model_not_supported',
    param: reasoningField,
    message: (model, sent) => `The model "${model}" does not support reasoning. Remove "reasoning_effort"${sentAs(sent, 'reasoning_effort')}, or use a reasoning-capable model.`,
  },
  {
    isAsked: ({ stream }) => stream,
    isMet: ({ mapping }) => mapping.streaming,
    reason: 'does not stream',
    code: 'streaming_not_supported',
    param: 'stream',
    message: (model) => `The model "${model}" does not support streaming. Send the request with "stream": false.`,
  },
  {
    isAsked: ({ tools }) => tools !== null,
    isMet: ({ mapping }) => mapping.tools,
    reason: 'takes no tools',
    code: 'model_not_supported',
    param: 'tools',
    message: (model) => `The model "${model}" does not support tools. Remove "tools", or use a model that supports them.`,
  },
  {
    isAsked: ({ messages }) => hasImages(messages),
    isMet: ({ mapping }) => mapping.vision,
    reason: 'takes no images',
    code: 'model_not_supported',
    param: 'messages',
    message: (model) => `The model "${model}" does not accept images. Remove them, or use a model with image input.`,
  },
];

export default definePlugin({
  name,
  summary: 'drops providers that lack what a request asks for: reasoning, budgets, streaming, tools, images, embeddings',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.route.tap((candidates, { request }) => needs.reduce((left, need) => (need.isAsked(request) ? meet(left, need, request) : left), candidates));
  },
});

function meet(candidates: readonly Candidate[], need: Need, { model, reasoning }: ChatRequest): readonly Candidate[] {
  const param = typeof need.param === 'string' ? need.param : need.param(reasoning);
  return candidates.map((candidate) => {
    if (candidate.dropped !== null || need.isMet(candidate)) return candidate;
    // another provider could do this but is off: then the request is not at fault, and the error lists the variables that are not set
    const isOff = candidates.some((other) => other.dropped?.by === 'core' && need.isMet(other));
    return drop(candidate, { by: name, reason: need.reason, error: isOff ? null : new GatewayError(need.code, need.message(model, param), { param }) });
  });
}
