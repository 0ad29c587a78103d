/** Parameters of chat completions that an API does not have, or takes in part. */
import { type ChatRequest, parameterNames } from '../../../core/chat.ts';
import type { Adjust } from '../../../core/wire/adjustments.ts';
import { GatewayError } from '../../../core/errors.ts';

type Parameter = (typeof parameterNames)[number][0];

const fields = Object.fromEntries(parameterNames) as Readonly<Record<Parameter, (typeof parameterNames)[number][1]>>;

/** The values that ask for nothing, besides null and an empty list or object. */
const neutral: Readonly<Record<string, unknown>> = {
  presence_penalty: 0,
  frequency_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
};

/** Whether a value of a parameter asks for something, so that the reply must say that it was dropped. */
export const asksFor = (parameter: string, value: unknown): boolean =>
  value !== null && value !== neutral[parameter] && !(typeof value === 'object' && Object.keys(value).length === 0);

/** Whether the caller asks for something by a parameter. */
export const asksBy = (parameter: Parameter, request: ChatRequest): boolean => asksFor(parameter, request[fields[parameter]]);

/**
 * Throws `unsupported_value` where the caller asks for several answers: a single
 * answer would be of no use to the caller, and another provider may give all of them.
 * @param who the provider, at the start of a sentence
 */
export function refuseSeveral(n: number | null, who = 'This provider'): void {
  if (n !== null && n > 1) {
    throw new GatewayError('unsupported_value', `${who} gives one answer for each request. Leave out "n", or send it as 1.`, {
      param: 'n',
    });
  }
}

/**
 * Throws `unsupported_value` for more stop sequences than the provider takes: without some of them the answer
 * would run past its stop and be wrong, and another provider may take all of them.
 */
export function refuseManyStops(stop: ChatRequest['stop'], most: number): void {
  if (stop === null || typeof stop === 'string' || stop.length <= most) return;
  throw new GatewayError('unsupported_value', `This provider takes at most ${most} stop sequences, and "stop" has ${stop.length}.`, {
    param: 'stop',
  });
}

/**
 * The stop sequences without those that are only white space.
 * wire: Claude answers 400 to such a one (Anthropic: Messages, "each stop sequence must contain non-whitespace"), on Bedrock too.
 */
export function stopsOf({ stop }: ChatRequest, adjust: Adjust): readonly string[] {
  const all = [stop ?? []].flat();
  const kept = all.filter((sequence) => sequence.trim() !== '');
  if (kept.length < all.length) adjust('stop', 'blank sequences dropped');
  return kept;
}
