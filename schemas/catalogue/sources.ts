/**
 * What others say of a model at a provider: `@pydantic/genai-prices`, a dev dependency, and pi-ai, whose figures are kept in `pi-ai.json`
 * (`npm run generate -- catalogue --refresh` fetches them). `overrides.yaml` has their names for our providers.
 */
import { readFileSync } from 'node:fs';
import { calcPrice, type ModelPrice } from '@pydantic/genai-prices';
import { parse } from 'yaml';
import type { PricingBlock } from '../pricing.ts';

/** Prices as the catalogue writes them. */
export type Prices = Exclude<PricingBlock, string>;

/** What one source says. What it does not say is absent. */
export interface Figures {
  readonly pricing?: Prices | 'unknown';
  readonly context_length?: number;
  readonly max_output_tokens?: number;
}

/** What overrides may say of a model wherever it is served. A price is always that of one provider. */
type ModelFigures = Omit<Figures, 'pricing'>;

/** What overrides may say of a model, besides figures. */
interface Dates {
  /** A day, for example 2026-04-23. */
  readonly created?: string;
  readonly deprecated_at?: string;
  readonly deactivated_at?: string;
}

/** One entry of `overrides`: what is said of these models instead of the sources, and the reason. */
interface Override {
  readonly why: string;
  readonly models: Readonly<Record<string, ModelFigures & Dates & { readonly at?: Readonly<Record<string, Pick<Figures, 'pricing'>>> }>>;
}

/** `overrides.yaml`: everything that the generator knows besides the sources. */
interface Overrides {
  /** The time whose prices count. */
  readonly as_of: string;
  /** The version of pi-ai that `pi-ai.json` is of. */
  readonly pi_ai: string;
  /**
   * Our providers with their names in the sources. A source that does not know the
   * provider is absent. `host`: its limits of an answer are its own, not the model's.
   */
  readonly providers: Readonly<Record<string, { readonly prices?: string; readonly pi?: string; readonly host?: true }>>;
  /** Tokenizers by globs of ids. The first that fits counts. */
  readonly tokenizers: readonly { readonly is: string; readonly ids: readonly string[] }[];
  readonly overrides: readonly Override[];
}

/** Prices of pi-ai: dollars for a million tokens. */
export interface PiPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** The figures of pi-ai for one model, as `pi-ai.json` keeps them. */
export interface PiModel extends PiPrices {
  readonly context: number;
  readonly maxOutput: number;
  readonly tiers?: readonly (PiPrices & { readonly above: number })[];
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** The file of overrides. */
export const overrides = parse(read('overrides.yaml')) as Overrides;
const piAi = JSON.parse(read('pi-ai.json')) as Readonly<Record<string, PiModel>>;

/** The key of a model in `pi-ai.json`. */
export const piKey = (provider: string, externalId: string): string => `${provider} ${externalId}`;

/** Our price → theirs, and for how many units theirs is. */
const theirPrices = {
  prompt: ['input_mtok', 1e6],
  completion: ['output_mtok', 1e6],
  input_cache_read: ['cache_read_mtok', 1e6],
  input_cache_write: ['cache_write_mtok', 1e6],
  input_cache_write_1h: ['cache_write_1h_mtok', 1e6],
  internal_reasoning: ['output_reasoning_mtok', 1e6],
  web_search: ['web_searches_kcount', 1e3],
  request: ['requests_kcount', 1e3],
} as const satisfies Partial<Record<keyof Prices, readonly [string, number]>>;

/** Dollars for one unit as a decimal. The twelve places are those that the gateway counts. */
export const decimal = (price: number, units: number): string => (price / units).toFixed(12).replace(/\.?0+$/, '') || '0';

/** What genai-prices says of this model; null: it does not know the model. */
function fromGenaiPrices(providerId: string, externalId: string): Figures | null {
  const theirs = overrides.providers[providerId]?.prices;
  const found =
    theirs === undefined ? null : calcPrice({ input_tokens: 1 }, externalId, { providerId: theirs, timestamp: new Date(overrides.as_of) });
  if (found === null) return null;
  const { context_window: context } = found.model;
  return { pricing: pricesOf(found.model_price), ...(context !== undefined && { context_length: context }) };
}

function pricesOf(theirs: ModelPrice): Prices {
  const tiers = new Map<number, Record<string, string>>();
  const base: Record<string, string> = {};
  for (const [name, [theirName, units]] of Object.entries(theirPrices)) {
    const price = theirs[theirName];
    if (price === undefined) continue;
    base[name] = decimal(typeof price === 'number' ? price : price.base, units);
    if (typeof price === 'number') continue;
    for (const { start, price: dearer } of price.tiers) tiers.set(start, { ...tiers.get(start), [name]: decimal(dearer, units) });
  }
  return withTiers(base, tiers);
}

/** What pi-ai says of this model; null: it does not know the model. */
export function fromPiAi(providerId: string, externalId: string): Figures | null {
  const theirs = overrides.providers[providerId]?.pi;
  const found = theirs === undefined ? undefined : piAi[piKey(theirs, externalId)];
  if (found === undefined) return null;
  const { context, maxOutput } = found;
  const tiers = new Map((found.tiers ?? []).map(({ above, ...prices }) => [above, piPrices(prices)]));
  return {
    // pi-ai has zero where it knows no price
    ...(found.input > 0 && { pricing: withTiers(piPrices(found), tiers) }),
    ...(context > 0 && { context_length: context }),
    // pi-ai has most of the context where it knows no limit of an answer
    ...(maxOutput > 0 && maxOutput < context * 0.75 && { max_output_tokens: maxOutput }),
  };
}

/** Zero means that there is no such price, except for the prompt and the answer. */
const piPrices = ({ input, output, cacheRead, cacheWrite }: PiPrices): Record<string, string> => ({
  prompt: decimal(input, 1e6),
  completion: decimal(output, 1e6),
  ...(cacheRead > 0 && { input_cache_read: decimal(cacheRead, 1e6) }),
  ...(cacheWrite > 0 && { input_cache_write: decimal(cacheWrite, 1e6) }),
});

const withTiers = (base: Record<string, string>, tiers: ReadonlyMap<number, Record<string, string>>): Prices => ({
  ...base,
  ...(tiers.size > 0 && { tiers: [...tiers].sort(([a], [b]) => a - b).map(([above, prices]) => ({ above, ...prices })) }),
});

/** What is said of a model at a provider: by genai-prices, else by pi-ai, each figure for itself; overrides change single prices too. */
export function figuresOf(id: string, providerId: string, externalId: string): Figures {
  const pi = fromPiAi(providerId, externalId);
  const { max_output_tokens: most, ...theirs }: Figures = { ...pi, ...withTiersOf(pi, fromGenaiPrices(providerId, externalId)) };
  const isHost = overrides.providers[providerId]?.host === true;
  const figures = isHost || most === undefined ? theirs : { ...theirs, max_output_tokens: most };
  return overrides.overrides.reduce((sum, { models }) => withPrices(sum, models[id]?.at?.[providerId]?.pricing), figures as Figures);
}

/** Adds pi-ai's prices of long prompts where genai-prices has none, and both have the same price for a short prompt. */
function withTiersOf(pi: Figures | null, figures: Figures | null): Figures | null {
  const [{ tiers, prompt } = {}, known = {}] = [pi?.pricing, figures?.pricing].map((prices) => (typeof prices === 'object' ? prices : {}));
  return tiers === undefined || known.tiers !== undefined || known.prompt !== prompt
    ? figures
    : { ...figures, pricing: { ...known, tiers } };
}

function withPrices(figures: Figures, said: Figures['pricing']): Figures {
  if (said === undefined) return figures;
  return { ...figures, pricing: typeof said === 'string' || typeof figures.pricing === 'string' ? said : { ...figures.pricing, ...said } };
}

/** What the overrides say of a model wherever it is served. */
export const saidOf = (id: string): ModelFigures & Dates =>
  Object.assign({}, ...overrides.overrides.map(({ models }) => models[id] ?? {})) as ModelFigures & Dates;
