/**
 * Drops candidates that cannot do what the request asks for: reasoning, an explicit budget, tools, a stream, JSON, images, sounds,
 * files, videos, a prompt of this length. It acts at `route`. When no candidate is left, the error tells the caller what no provider
 * of the model can do. What an entry of the catalogue does not say is not known, and drops nothing: the provider decides.
 */
import { reasoningField } from '../../core/chat.ts';
import type { ChatRequest, Message, Reasoning } from '../../core/chat.ts';
import type { Config } from '../../core/config.ts';
import type { Candidate } from '../../core/pipeline/context.ts';
import { drop, stands } from '../../core/pipeline/context.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { GatewayError } from '../../core/errors.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { textEstimate } from '../../core/wire/estimate.ts';
import { thawed } from '../../core/wire/fields.ts';

const name = 'route/capability';

const sentAs = (sent: string, usual: string): string => (sent === usual ? '' : ` (sent as "${sent}")`);

type Able = Pick<Candidate, 'model' | 'mapping'>;

/** Something that a candidate cannot do, and the error for callers where no candidate can do it. */
interface Lack {
  /** Why the candidate is dropped, for the log. */
  readonly reason: string;
  /** `model_not_supported` where absent. */
  readonly code?: ErrorCode;
  readonly param: string | ((reasoning: Reasoning) => string);
  /** @param sent the parameter under the name that the caller used */
  readonly message: (model: string, sent: string) => string;
}

/** Something that a request may ask for. */
interface Need extends Lack {
  readonly isAsked: (request: ChatRequest, kinds: number) => boolean;
  /** Makes the check of one candidate. cost: what it needs to know of all others is found once for each list, and not for each candidate. */
  readonly isMet: (among: readonly Able[]) => (candidate: Able) => boolean;
}

/** Kinds of input beside text, as bits. */
const kindBits = { image: 1, audio: 2, file: 4, video: 8 } as const;
type Kind = keyof typeof kindBits;

const bitOfPart: ReadonlyMap<unknown, number> = new Map([
  ['image_url', kindBits.image],
  ['input_audio', kindBits.audio],
  ['file', kindBits.file],
  ['video_url', kindBits.video],
]);

/** cost: a conversation of texts alone, which most are, takes a look at each message. */
function kindsIn(messages: readonly Message[]): number {
  let kinds = 0;
  for (const { content } of messages) {
    if (typeof content === 'object' && content !== null) for (const { type } of content) kinds |= bitOfPart.get(type) ?? 0;
  }
  return kinds;
}

/** The kinds of input that the catalogue names for a model; empty where it names none. */
const inputsOf = ({ model }: Able): readonly string[] => model.stated?.input_modalities ?? [];

/**
 * Whether a model reads this kind of input. A model without a list may read all kinds. A list of text and image says little
 * about other kinds, because catalogues often name no more: such a model is dropped only where another candidate names the kind.
 */
function reads(kind: Kind, among: readonly Able[]): (candidate: Able) => boolean {
  const isNamed = among.some((one) => inputsOf(one).includes(kind));
  return (candidate) => {
    const list = inputsOf(candidate);
    if (list.length === 0 || list.includes(kind)) return true;
    const mayBeMore = list.every((one) => one === 'text' || one === 'image') && list.includes('image');
    return mayBeMore && !isNamed;
  };
}

const input = (kind: Kind, what: string): Need => ({
  isAsked: (_, kinds) => (kinds & kindBits[kind]) !== 0,
  isMet: (among) => reads(kind, among),
  reason: `takes no ${what}`,
  param: 'messages',
  message: (model) => `The model "${model}" does not accept ${what}. Remove them, or use a model with ${kind} input.`,
});

/** An ability that one look at the candidate shows. */
const shown =
  (has: (candidate: Able) => boolean): Need['isMet'] =>
  () =>
    has;

const givesMore = ({ model }: Able): boolean => model.architecture.output_modalities.some((kind) => kind !== 'embeddings');
const givesVectors = ({ model }: Able): boolean => model.architecture.output_modalities.includes('embeddings');

const needs: readonly Need[] = [
  {
    isAsked: ({ ask }) => ask?.kind === 'embeddings',
    isMet: shown(givesVectors),
    reason: 'gives no embeddings',
    param: 'model',
    message: (model) =>
      `The model "${model}" gives no embeddings. GET /v1/models lists those that do, with output_modalities: [embeddings].`,
  },
  {
    isAsked: ({ ask }) => ask?.kind !== 'embeddings',
    isMet: shown(givesMore),
    reason: 'gives embeddings only',
    param: 'model',
    message: (model) => `The model "${model}" gives embeddings and no text. Ask it by POST /v1/embeddings.`,
  },
  {
    isAsked: ({ reasoning }) => reasoning.maxTokens !== null,
    isMet: shown(({ mapping }) => mapping.reasoning?.max_tokens === true),
    reason: 'takes no reasoning budget',
    param: reasoningField,
    message: (model, sent) =>
      `The model "${model}" does not support an explicit reasoning budget. Remove the "reasoning" parameter${sentAs(sent, 'reasoning.max_tokens')}, or use a model that supports explicit budgets (reasoning.max_tokens).`,
  },
  {
    isAsked: ({ reasoning }) => reasoning.effort !== null,
    isMet: shown(({ mapping }) => mapping.reasoning !== null),
    reason: 'does not reason',
    param: reasoningField,
    message: (model, sent) =>
      `The model "${model}" does not support reasoning. Remove "reasoning_effort"${sentAs(sent, 'reasoning_effort')}, or use a reasoning-capable model.`,
  },
  {
    isAsked: ({ stream }) => stream,
    isMet: shown(({ mapping }) => mapping.streaming),
    reason: 'does not stream',
    code: 'streaming_not_supported',
    param: 'stream',
    message: (model) => `The model "${model}" does not support streaming. Send the request with "stream": false.`,
  },
  {
    isAsked: ({ tools }) => tools !== null,
    isMet: shown(({ mapping }) => mapping.tools),
    reason: 'takes no tools',
    param: 'tools',
    message: (model) => `The model "${model}" does not support tools. Remove "tools", or use a model that supports them.`,
  },
  { ...input('image', 'images'), isMet: shown(({ mapping }) => mapping.vision) },
  input('audio', 'sounds'),
  input('file', 'files'),
  input('video', 'videos'),
  {
    isAsked: ({ responseFormat }) => responseFormat?.type === 'json_object',
    // a model that answers by a schema answers in JSON
    isMet: shown(({ model: { stated } }) => stated?.json_output !== false || stated.structured_outputs === true),
    reason: 'gives no JSON',
    param: 'response_format',
    message: (model) => `The model "${model}" cannot be made to answer in JSON. Remove "response_format", or use a model with json_output.`,
  },
  {
    isAsked: ({ responseFormat }) => responseFormat?.type === 'json_schema',
    isMet: shown(({ model: { stated } }) => stated?.structured_outputs !== false),
    reason: 'gives no structured outputs',
    param: 'response_format',
    message: (model) =>
      `The model "${model}" cannot be made to answer by a JSON Schema. Remove "response_format", or use a model with structured_outputs.`,
  },
];

export default definePlugin({
  name,
  summary: 'drops providers that lack what a request asks for: reasoning, tools, JSON, images, files, room for the prompt',
  apply({ hooks, config }) {
    const known = needsOf(config);
    hooks.route.tap((candidates, { request, headers }) => {
      const kinds = kindsIn(request.messages);
      const left = known.reduce((all, need) => (need.isAsked(request, kinds) ? meet(all, request, need) : all), candidates);
      return fitting(left, request, Number(headers['content-length'] ?? 0));
    });
  },
});

/** cost: an ability that every model of the config and every wildcard has is not checked. */
function needsOf({ models, wildcards }: Config): readonly Need[] {
  const all = [...models, ...wildcards].flatMap((model) => model.providers.map((mapping): Able => ({ model, mapping })));
  return needs.filter(({ isMet }) => !all.every(isMet(all)));
}

function meet(
  frozen: readonly Candidate[],
  { model, reasoning }: ChatRequest,
  { isMet, code = 'model_not_supported', ...lack }: Pick<Need, 'isMet'> & Lack,
): readonly Candidate[] {
  const param = typeof lack.param === 'string' ? lack.param : lack.param(reasoning);
  const candidates = thawed(frozen);
  const meets = isMet(candidates);
  // another provider could do this but is off: then the fault is not the request's, and the error lists the variables that are not set
  const isOff = candidates.some((one) => one.dropped?.by === 'core' && meets(one));
  return candidates.map((candidate) => {
    if (!stands(candidate) || meets(candidate)) return candidate;
    return drop(candidate, {
      by: name,
      reason: lack.reason,
      error: isOff ? null : new GatewayError(code, lack.message(model, param), { param }),
    });
  });
}

/**
 * A prompt counts as too long where its estimate is more than this many times the window of the model.
 * safety: estimates of Chinese and Korean texts are up to 1.8 times the count of some tokenizers, and a request that a provider would
 * have taken must not be refused. Whether a prompt nearer to the window fits, the provider decides.
 */
const margin = 2;

/** Drops the candidates whose window is too small for the prompt. @param bytes of the body; 0 where it was not announced */
function fitting(candidates: readonly Candidate[], request: ChatRequest, bytes: number): readonly Candidate[] {
  if (request.ask !== undefined) return candidates;
  let smallest = Infinity;
  for (const candidate of candidates) {
    const { context_length: window } = candidate.model;
    if (stands(candidate) && window > 0 && window < smallest) smallest = window;
  }
  // cost: a token has one character or more, so the number of characters shows that most prompts fit, and no estimate is needed
  if (smallest === Infinity || (request.tools === null ? 0 : bytes) + charactersIn(request.messages) <= smallest * margin) {
    return candidates;
  }
  const tokens = textEstimate(request);
  const largest = Math.max(...candidates.map((candidate) => (stands(candidate) ? candidate.model.context_length : 0)));
  return meet(candidates, request, {
    isMet: shown(({ model: { context_length: window } }) => window === 0 || tokens <= window * margin),
    reason: `has a smaller context than the prompt, which is about ${tokens} tokens`,
    code: 'context_length_exceeded',
    param: 'messages',
    message: (model) =>
      `The prompt is about ${tokens} tokens, and the context of "${model}" is ${largest}. Shorten the messages, or use a model with a larger context.`,
  });
}

function charactersIn(messages: readonly Message[]): number {
  let characters = 0;
  for (const { content, tool_calls: calls } of messages) {
    if (typeof content === 'string') characters += content.length;
    else if (content) for (const { text } of content) characters += text?.length ?? 0;
    if (calls !== undefined) for (const call of calls) characters += call.function.arguments.length;
  }
  return characters;
}
