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
  const check = (block: PricingBlock | undefined, path: Path): void => {
    for (const [inside, price] of prices(block ?? {})) {
      if (parseDollars(price) === undefined) findings.error(placeOf(entry, ...path, ...inside), `"${price}" is finer than 10^-12 dollar`, 'prices have at most twelve decimals');
    }
  };
  check(pricing, ['pricing']);
  providers.forEach((mapping, index) => check(mapping.pricing, ['providers', index, 'pricing']));
}

/** An error unless the model, or each of its mappings, has prices, or it is said to be free. */
export function requirePrice(entry: Entry<ModelBlock>, findings: Findings): void {
  const { free, pricing, providers } = entry.value;
  if (free || isPriced(pricing) || providers.every((mapping) => isPriced(mapping.pricing))) return;
  findings.error(placeOf(entry, 'id'), `the model "${entry.id}" has no price`, 'write `pricing`, or `free: true`');
}

const isPriced = (block: PricingBlock | undefined): boolean => prices(block ?? {}).length > 0;

/** Each price with its path inside the block. */
function prices(block: PricingBlock): [Path, string][] {
  return Object.entries(block).flatMap(([name, price]): [Path, string][] => {
    if (typeof price === 'string') return [[[name], price]];
    return Object.entries(price ?? {}).map(([size, perSecond]) => [[name, size], perSecond]);
  });
}
