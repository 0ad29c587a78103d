/**
 * Checks the body of a request field by field. Fields that only this format has are
 * kept for providers of the same format, and reported where another provider is asked.
 */
import { hash } from 'node:crypto';
import type { ChatRequest, Native } from '../../../../core/chat.ts';
import { GatewayError } from '../../../../core/errors.ts';
import {
  bodyFields,
  boolean,
  type Check,
  count,
  integer,
  listOf,
  modelName,
  number,
  object,
  optional,
  text,
  wrongValue,
} from '../../../../core/wire/checks.ts';
import { type Fields, fieldsOf, listOf as entriesOf } from '../../../../core/wire/fields.ts';
import { conversationOf } from './messages.ts';
import { betweenTools, thinkingOf, type Thinking } from './thinking.ts';
import { choiceOf, formatOf, toolsOf } from './tools.ts';

/** The name of this wire format (`ChatRequest.form`). */
export const form = 'messages';

/** The parameter of a conversation that the server keeps between two requests. */
export const threadParam = 'thread';

/** The request that a body describes. Throws a `GatewayError` with the `param` at fault. */
export function parseMessages(body: unknown, headers: Readonly<Record<string, string | undefined>>): ChatRequest {
  const {
    model,
    messages,
    system,
    stream,
    tools,
    tool_choice,
    thinking,
    output_config: config,
    max_tokens,
    stop_sequences,
    temperature,
    top_p,
    top_k,
    metadata,
    thread,
    ...more
  } = bodyFields(body);
  refuseThread(thread);
  const name = modelName(model);
  const conversation = conversationOf(system, messages);
  const { format, ...effort } = optional('output_config', config, object) ?? {};
  const thoughts = thinkingOf(thinking, effort);
  const limit = optional('max_tokens', max_tokens, limitOf);
  const topK = optional('top_k', top_k, integer);
  for (const [at, beta] of entriesOf(more['anthropic_beta']).entries()) betaName(`anthropic_beta[${at}]`, beta);
  const userId = optional('metadata.user_id', fieldsOf(optional('metadata', metadata, object))['user_id'], text);
  return {
    model: name,
    messages: conversation,
    stream: optional('stream', stream, boolean) ?? false,
    includeUsage: true,
    reasoning: thoughts.reasoning,
    tools: toolsOf(tools),
    ...choiceOf(tool_choice),
    responseFormat: formatOf(format),
    maxTokens: limit,
    temperature: optional('temperature', temperature, number),
    topP: optional('top_p', top_p, number),
    stop: optional('stop_sequences', stop_sequences, listOf(text)),
    seed: null,
    n: null,
    presencePenalty: null,
    frequencyPenalty: null,
    logitBias: null,
    logprobs: null,
    topLogprobs: null,
    user: userId === null ? null : shortId(userId),
    rest: topK === null ? {} : { top_k: topK },
    form,
    native: { ...nativeOf({ ...more, metadata }, thoughts, betasIn(headers)), ...(limit === 0 && { needed: noAnswer }) },
    ...(wantsTextLast(headers) && { door: { text_last: true } }),
  };
}

/** wire: 0 fills the cache of the provider, without an answer (anthropic-sdk-typescript 1.14, MessageCreateParams) */
const limitOf: Check<number> = (param, value) => (value === 0 ? 0 : count(param, value));

const noAnswer = {
  param: 'max_tokens',
  message: 'A "max_tokens" of 0 asks for no answer, only to fill the cache, which the provider of this model does not do.',
};

/**
 * safety: a provider gets the betas in a header. A beta that HTTP does not allow in a header would
 * fail as if the provider could not be reached, and the provider would rest for all callers.
 */
const betaName: Check<string> = (param, value) => {
  const name = text(param, value);
  if (!/^[ -~]*$/.test(name)) throw wrongValue(param, 'must be the name of a beta, in letters, digits and dashes');
  return name;
};

/**
 * safety: a request that continues a thread has only the new messages. The gateway keeps no messages,
 * and its ids are not those of the provider: the model would be asked without the conversation.
 */
function refuseThread(thread: unknown): void {
  if (thread !== undefined && thread !== null) {
    throw new GatewayError(
      'unsupported_value',
      'The gateway keeps no "thread". Send the whole conversation in "messages", without "thread".',
      { param: threadParam },
    );
  }
}

/**
 * wire: Claude Code 2.1.330 takes the last block of an answer for its result:
 * where that block is thinking, `claude -p` prints nothing. It sends `x-app: cli`
 */
const wantsTextLast = ({ 'x-app': app }: Readonly<Record<string, string | undefined>>): boolean => app === 'cli';

/**
 * wire: some providers take at most 64 characters (OpenAI: error text of `user`), and Claude Code sends more. A hash names the same user.
 */
const shortId = (id: string): string => (id.length <= 64 ? id : hash('sha256', id));

const betasIn = (headers: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');

/**
 * The top-level fields that only this format has. Betas go into the field that the format uses where there are no headers.
 * wire: Amazon Bedrock: Anthropic Claude Messages API, `anthropic_beta`
 */
function nativeOf({ metadata, ...more }: Fields, { thinking, config }: Thinking, betas: readonly string[]): Native {
  const given = Object.entries(more).filter(([, value]) => value !== null);
  const { user_id: _, ...facts } = fieldsOf(metadata);
  const { type, ...ofThinking } = thinking;
  return {
    fields: {
      ...Object.fromEntries(given),
      ...(metadata !== undefined && metadata !== null && { metadata }),
      ...(Object.keys(thinking).length > 0 && { thinking }),
      ...(Object.keys(config).length > 0 && { output_config: config }),
      ...(betas.length > 0 && { anthropic_beta: betas }),
    },
    lost: [
      ...given.map(([name]) => name),
      ...Object.keys(facts).map((name) => `metadata.${name}`),
      ...(type === betweenTools ? ['thinking'] : Object.keys(ofThinking).map((name) => `thinking.${name}`)),
      ...Object.keys(config).map((name) => `output_config.${name}`),
      ...(betas.length > 0 ? ['anthropic-beta'] : []),
    ],
  };
}
