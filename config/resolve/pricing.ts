/** Prices are exact, and there is one: a model that nobody priced is never served for nothing by mistake. */
import { parseDollars } from '../../core/money.ts';
import type { ModelBlock } from '../../schemas/models.ts';
import type { PricingBlock } from '../../schemas/pricing.ts';
import type { Entry } from '../merge.ts';
import { placeOf } from '../merge.ts';
import type { Findings } from '../problems.ts';
import type { Path } from '../source.ts';

/** Every price, of the model and of its mappings, is one that money can hold: no finer than 10^-12 dollar. */
export function checkPrices(entry: Entry<ModelBlock>, findings: Findings): void {
  const { pricing, providers } = entry.value;
  const blocks: [Path, PricingBlock | undefined][] = [[['pricing'], pricing], ...providers.map((mapping, index): [Path, PricingBlock | undefined] => [['providers', index, 'pricing'], mapping.pricing])];
  for (const [path, block] of blocks) {
    for (const [inside, price] of prices(block ?? {})) {
      if (parseDollars(price) === undefined) findings.error(placeOf(entry, ...path, ...inside), `"${price}" is finer than 10^-12 dollar`, 'the price is per token, not per thousand or million');
    }
  }
}

/** An error unless the model, or each of its mappings, has prices, or it is said to be free. */
export function requirePrice(entry: Entry<ModelBlock>, findings: Findings): void {
  const { free, pricing, providers } = entry.value;
  if (free || isPriced(pricing) || providers.every((mapping) => isPriced(mapping.pricing))) return;
  findings.error(placeOf(entry, 'id'), `the model "${entry.id}" has no price`, 'write `pricing`, or `free: true`');
}

const isPriced = (block: PricingBlock | undefined): boolean => prices(block ?? {}).length > 0;

function prices(block: PricingBlock): [Path, string][] {
  return Object.entries(block).flatMap(([name, price]): [Path, string][] =>
    typeof price === 'string' ? [[[name], price]] : Object.entries(price ?? {}).map(([size, perSecond]): [Path, string] => [[name, size], perSecond]),
  );
}
