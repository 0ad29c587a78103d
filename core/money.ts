/**
 * Money is counted in whole pico-dollars (10^-12 dollar) as bigints, never in floats, so sums are exact. A price of $0.0375 per
 * million tokens is 37,500 pico-dollars per token. docs/money.md tells how a cost comes about.
 */

import { promptTokens } from './chat.ts';
import type { ChatRequest, Usage } from './chat.ts';
import type { PeakPrices, Pricing } from './config.ts';

const digits = 12;
const pattern = /^(\d+)(?:\.(\d+))?$/;

/**
 * Dollars as text → pico-dollars: `"0.00000125"` → `1250000n`. Undefined
 * where the text is not a plain decimal, or is finer than 10^-12 dollar.
 */
export function parseDollars(text: string): bigint | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const trimmed = fraction.replace(/0+$/, '');
  if (trimmed.length > digits) return undefined;
  return BigInt(whole + trimmed.padEnd(digits, '0'));
}

/** safety: Redis holds the spent dollars as a 64-bit number of 10^-12 dollar, and what is spent beyond the limit must fit too. */
const mostDollars = 9_000_000;

/** What is wrong with the dollars of a budget; null: nothing. */
export function budgetFault(dollars: string): string | null {
  if (!pattern.test(dollars)) return 'must be a decimal in quotes, for example "20"';
  const pico = parseDollars(dollars);
  if (pico === undefined) return 'is finer than 10^-12 dollar';
  return pico > BigInt(mostDollars) * 10n ** 12n ? `is more than can be counted, at most "${mostDollars}"` : null;
}

/** Pico-dollars → dollars as text, without zeros at the end: `1250000n` → `"0.00000125"`. */
export function formatDollars(pico: bigint): string {
  const text = (pico < 0n ? -pico : pico).toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${pico < 0n ? '-' : ''}${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** An amount as people write it, with all its digits: `"0.1"` → `"$0.10"`, and whole dollars stay whole. */
export const exactDollars = (amount: string): string => `$${amount.replace(/\.\d$/, '$&0')}`;

/** An amount that people read at a glance: cents from a dollar on, below that four digits that count, at least cents. */
export function shortDollars(dollars: number): string {
  if (dollars === 0) return '$0';
  const decimals = dollars >= 0.99995 ? 2 : Math.min(digits, 3 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toFixed(decimals).replace(/(\.\d{2,}?)0+$/, '$1')}`;
}

// cost: a catalogue has few different prices, and each is parsed once
const prices = new Map<string, bigint | null>();
/** safety: every reload of the config may bring other prices. */
const mostPrices = 10_000;

/** A price of the config in pico-dollars; null where it is not known. */
export function price(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const known = prices.get(text);
  if (known !== undefined) return known;
  const read = parseDollars(text) ?? null;
  if (prices.size >= mostPrices) prices.clear();
  prices.set(text, read);
  return read;
}

/** Dollars that a provider sent as a number, as a decimal text; undefined where the value is not an amount. */
export function dollarsOf(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined;
  const pico = parseDollars(value.toFixed(digits));
  return pico === undefined ? undefined : formatDollars(pico);
}

/** What the price of a request depends on, besides its tokens. */
export interface Circumstances {
  /** Images of the prompt. */
  readonly images: number;
  /** The request allows the provider to search the web. */
  readonly maySearch: boolean;
  /** The service tier: the one that the provider named, else the one that was asked for. */
  readonly tier?: string | null;
  /** Epoch milliseconds: when it began, and when it was over. */
  readonly from: number;
  readonly to: number;
}

/** Fields of chat completions that ask for a search. */
const searchFields = ['web_search_options', 'search_parameters', 'plugins'];

/** @param from when the request came, and `to` when it was over, in epoch milliseconds */
export function circumstancesOf(request: ChatRequest, from: number, to = from): Circumstances {
  let images = 0;
  for (const { content } of request.messages) {
    if (Array.isArray(content)) for (const { type } of content as readonly { type: string }[]) if (type === 'image_url') images++;
  }
  return { images, maySearch: asksToSearch(request), tier: tierIn(request), from, to };
}

const asksToSearch = ({ rest, tools }: ChatRequest): boolean =>
  searchFields.some((field) => rest[field] !== undefined && rest[field] !== null) ||
  (tools ?? []).some(({ type, function: called }) => called === undefined && /search|ground/i.test(type));

/** wire: `service_tier` of OpenAI, which others took over, `serviceTier: { type }` of Amazon Bedrock, and `speed` of the Messages API. */
function tierIn({ rest: { service_tier: tier, serviceTier: other }, native }: ChatRequest): string | null {
  if (native?.fields['speed'] === 'fast') return 'fast';
  const asked = tier ?? (other as { type?: unknown } | null | undefined)?.type;
  return typeof asked === 'string' ? asked : null;
}

const never: Circumstances = { images: 0, maySearch: false, from: 0, to: 0 };

/**
 * The prices of a request: those of the highest tier that its prompt reaches, or those of the peak hours where the request began or ended
 * in one; a tenth more for tokens where the request ran in one region.
 */
export function pricesFor(usage: Usage, pricing: Pricing, circumstances = never): Pricing {
  const prices = pricesAt(usage, pricing, circumstances);
  return usage.isRegional === true ? inRegion(prices) : prices;
}

function pricesAt(usage: Usage, pricing: Pricing, { from, to }: Circumstances): Pricing {
  const { tiers, peak } = pricing;
  if (peak !== undefined) return isPeak(peak, from) || isPeak(peak, to) ? atPeak(pricing) : baseOf(pricing);
  if (tiers === undefined) return pricing;
  const base = baseOf(pricing);
  const tokens = promptTokens(usage) ?? 0;
  const reached = tiers.filter(({ above }) => tokens > above).toSorted((a, b) => b.above - a.above)[0];
  if (reached === undefined) return base;
  const { above: _, ...prices } = reached;
  return { ...base, ...prices };
}

const ofTokens = ['prompt', 'completion', 'input_cache_read', 'input_cache_write', 'input_cache_write_1h', 'internal_reasoning'] as const;

/** wire: where one region was asked for, the prices of tokens are a tenth higher, and no others (Anthropic: Data residency). */
function inRegion(prices: Pricing): Pricing {
  const dearer = ofTokens.flatMap((name) => {
    const each = price(prices[name]);
    return each === null ? [] : [[name, formatDollars(timesTenths(each, 11n))]];
  });
  return { ...prices, ...(Object.fromEntries(dearer) as Partial<Pricing>) };
}

/** The result is rounded up to a whole 10^-12 dollar. */
const timesTenths = (pico: bigint, tenths: bigint): bigint => (pico * tenths + 9n) / 10n;

const baseOf = ({ tiers: _tiers, peak: _peak, ...base }: Pricing): Pricing => base;

/**
 * Whether a peak began or ended while the request was running. Providers do not say which
 * of the two prices applies then, so the cost uses the peak price, as an upper bound.
 */
export const straddlesPeak = ({ peak }: Pricing, { from, to }: Circumstances): boolean =>
  peak !== undefined && isPeak(peak, from) !== isPeak(peak, to);

/** The prices that hold now for a short prompt. */
export const pricesNow = (pricing: Pricing): Pricing =>
  pricing.peak !== undefined && isPeak(pricing.peak, Date.now()) ? atPeak(pricing) : pricing;

const peaks = new WeakMap<Pricing, Pricing>();

function atPeak(pricing: Pricing): Pricing {
  const known = peaks.get(pricing);
  if (known !== undefined) return known;
  const { hours: _hours, weekdays: _weekdays, ...prices } = pricing.peak as PeakPrices;
  const { peak: _peak, ...base } = pricing;
  const made = { ...base, ...prices };
  peaks.set(pricing, made);
  return made;
}

function isPeak({ hours, weekdays }: PeakPrices, at: number): boolean {
  const date = new Date(at);
  const time = date.toISOString().slice(11, 16);
  if (weekdays === true && date.getUTCDay() % 6 === 0) return false;
  return hours.some((span) => {
    const [begin = '', end = ''] = span.split('-');
    return begin < end ? time >= begin && time < end : time >= begin || time < end;
  });
}

/**
 * What a request cost, in 10^-12 dollar; null where it is not known. Each token is counted once: cached tokens, tokens written
 * to a cache and reasoning tokens cost their own price where there is one, else the price of prompt or completion tokens. For a
 * service tier with prices of its own, the result is an upper bound.
 */
export function costOf(usage: Usage, listed: Pricing, circumstances: Circumstances = never): bigint | null {
  const pricing = pricesFor(usage, listed, circumstances);
  const prompt = price(pricing.prompt);
  const completion = price(pricing.completion);
  if (prompt === null && completion === null) return null;
  const cacheWrite = price(pricing.input_cache_write) ?? prompt;
  const hourWrites = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite ?? 0);
  const total = new Total(price(pricing.request) ?? 0n);
  total.add(usage.input, prompt);
  total.add(usage.cacheRead ?? 0, price(pricing.input_cache_read) ?? prompt);
  total.add((usage.cacheWrite ?? 0) - hourWrites, cacheWrite);
  total.add(hourWrites, price(pricing.input_cache_write_1h) ?? cacheWrite);
  total.add(usage.answer, completion);
  total.add(usage.reasoning ?? 0, price(pricing.internal_reasoning) ?? completion);
  total.add(circumstances.images, price(pricing.image) ?? 0n);
  total.add(searchesOf(usage, circumstances), price(pricing.web_search) ?? 0n);
  if (usage.details !== undefined) total.add(unpricedOf(usage), prompt === 0n && completion === 0n ? 0n : null);
  const tenths = dearTiers.get(circumstances.tier);
  return total.known !== null && tenths !== undefined ? timesTenths(total.known, tenths) : total.known;
}

/**
 * The most that a service tier costs, in tenths of the usual price.
 * wire: `priority` is 1.7 to 2.5 times as much (OpenAI: Pricing, GPT-5.5: $12.50 for $5); it is named `fast` from GPT-6 on (OpenAI:
 * Fast mode, 2026-07-30), and at Anthropic `fast` is twice as much (Anthropic: Fast mode). `ultrafast` is six times as much (OpenAI:
 * Ultrafast mode, GPT-6 Astra: $60 for $10).
 */
const dearTiers: ReadonlyMap<unknown, bigint> = new Map([
  ['priority', 25n],
  ['fast', 25n],
  ['ultrafast', 60n],
]);

/**
 * Whether the service tier has prices of its own, which the catalogue does not have:
 * `flex` costs about half of the usual, the dear ones at most what `costOf` says.
 */
export const isOtherTier = ({ tier }: Circumstances): boolean => tier === 'flex' || dearTiers.has(tier);

/** Searches to pay for; null: not known. A provider that was not asked to search, and reported no searches, made none. */
const searchesOf = ({ webSearches }: Usage, { maySearch }: Circumstances): number | null =>
  webSearches === undefined ? (maySearch ? null : 0) : webSearches;

/** Tokens that vendors price differently from text. The catalogue has no price for them, and the price of text would be too low. */
const unpricedOf = ({ details: { inputAudio = 0, outputAudio = 0, outputImage = 0, citations = 0, advisor = 0 } = {} }: Usage): number =>
  inputAudio + outputAudio + outputImage + citations + advisor;

/** A sum that is unknown (null) once one of its parts is. */
class Total {
  known: bigint | null;

  constructor(first: bigint) {
    this.known = first;
  }

  add(count: number | null, each: bigint | null): void {
    if (each === 0n || count === 0 || this.known === null) return;
    // safety: a provider may send a count that is a fraction or too large to be exact; its cost is then unknown
    this.known = each === null || !Number.isSafeInteger(count) ? null : this.known + BigInt(count as number) * each;
  }
}
