/**
 * What `usage` of OpenAI's two APIs says about money: what the vendor charged, how often it searched, and tokens with prices of their own.
 */
import type { Usage, UsageDetails } from '../../../core/chat.ts';
import { dollarsOf } from '../../../core/money.ts';
import { countOf, type Fields, fieldsOf, isFields } from '../../../core/wire/fields.ts';

export type Billed = Pick<Usage, 'webSearches' | 'details' | 'charged'>;

/**
 * A field is absent where the vendor does not report it.
 * @param prompt the details of the prompt, and `completion` those of the answer: the two APIs name these fields differently
 */
export function billedOf(report: Fields, prompt: Fields, completion: Fields): Billed {
  const charged = chargedOf(report);
  const webSearches = searchesOf(report);
  const details = detailsOf(report, prompt, completion);
  return { ...(charged !== undefined && { charged }), ...(webSearches !== null && { webSearches }), ...(details !== null && { details }) };
}

/**
 * wire: `cost` is in dollars (OpenRouter: Usage accounting). If the caller's own key pays the vendor behind
 * OpenRouter (`is_byok`), `cost` is only OpenRouter's fee, so the vendor's price is added. Perplexity sends
 * an object with a total (Perplexity: Pricing). 10,000,000,000 ticks are a dollar (xAI: Cost tracking).
 */
function chargedOf({ cost, cost_in_usd_ticks: ticks, is_byok: isOwnKey, cost_details: parts }: Fields): string | undefined {
  if (ticks !== undefined) return dollarsOf(typeof ticks === 'number' ? ticks / 1e10 : undefined);
  if (isFields(cost)) return dollarsOf(cost['total_cost']);
  if (isOwnKey !== true) return dollarsOf(cost);
  const upstream = fieldsOf(parts)['upstream_inference_cost'];
  return typeof cost === 'number' && typeof upstream === 'number' && upstream >= 0 ? dollarsOf(cost + upstream) : undefined;
}

/**
 * wire: OpenRouter uses Anthropic's name (`server_tool_use`). Perplexity sends `num_search_queries`. xAI sends
 * `server_side_tool_usage_details`, which counts searches that were made, not those that failed (xAI: Tool usage details).
 */
const searchesOf = ({
  server_tool_use: tools,
  num_search_queries: queries,
  server_side_tool_usage_details: calls,
}: Fields): number | null =>
  countOf(fieldsOf(tools)['web_search_requests']) ?? countOf(queries) ?? countOf(fieldsOf(calls)['web_search_calls']);

/** wire: `citation_tokens` are in no other count (Perplexity, as @pydantic/genai-prices reads it, 0.1.8). */
function detailsOf({ citation_tokens: citations }: Fields, prompt: Fields, completion: Fields): UsageDetails | null {
  const counts = {
    inputAudio: prompt['audio_tokens'],
    outputAudio: completion['audio_tokens'],
    outputImage: completion['image_tokens'],
    acceptedPrediction: completion['accepted_prediction_tokens'],
    rejectedPrediction: completion['rejected_prediction_tokens'],
    citations,
  } satisfies { readonly [Name in keyof UsageDetails]: unknown };
  let known: Record<string, number> | null = null;
  for (const name in counts) {
    const count = countOf(counts[name as keyof typeof counts]);
    if (count !== null) (known ??= {})[name] = count;
  }
  return known;
}
