/** Checks prices: each must be exact. A model without a price is reported, because its requests have no cost. */
import { formatDollars, parseDollars } from '../../core/money.ts';
import type { ModelBlock } from '../../schemas/models.ts';
import type { PricingBlock } from '../../schemas/pricing.ts';
import { ofTokens } from '../../schemas/pricing.ts';
import type { Entry, Layer } from '../merge.ts';
import { placeOf } from '../merge.ts';
import type { WholeModel } from '../overlay.ts';
import { mappingsIn } from '../overlay.ts';
import type { Findings } from '../problems.ts';
import type { Path } from '../source.ts';

/** A cent for one token. The dearest models cost less than a tenth of it, and price lists are by the million tokens. */
const dearest = 10n ** 10n;
const million = 10n ** 6n;
const tokenPrices: ReadonlySet<unknown> = new Set(Object.keys(ofTokens));

/** Reports each price of a model, or of its mappings, that is finer than 10^-12 dollar: the gateway cannot count such amounts. */
export function checkPrices(entry: Layer<ModelBlock>, findings: Findings): void {
  const { pricing } = entry.value;
  const check = (block: PricingBlock | undefined, path: Path): void => {
    for (const [inside, price] of prices(block ?? {})) {
      const pico = parseDollars(price);
      if (pico === undefined) {
        findings.error(placeOf(entry, ...path, ...inside), `"${price}" is finer than 10^-12 dollar`, 'write at most twelve decimals');
      } else if (pico >= dearest && tokenPrices.has(inside.at(-1))) {
        findings.warn(
          placeOf(entry, ...path, ...inside),
          `"${price}" dollars for one token is more than any model costs`,
          `for ${price} dollars a million tokens write "${formatDollars(pico / million)}"`,
        );
      }
    }
    if (typeof block === 'object' && block.peak !== undefined && block.tiers !== undefined) {
      findings.error(placeOf(entry, ...path, 'peak'), 'prices by the hour cannot stand beside `tiers`', 'leave out one of the two');
    }
  };
  check(pricing, ['pricing']);
  for (const [mapping, path] of mappingsIn(entry.value)) check(mapping.pricing, [...path, 'pricing']);
}

/** Warns of a model that has no price: neither `pricing` of its own, nor `pricing` in each mapping, nor `free: true`. */
export function askForPrice(entry: Entry<WholeModel>, findings: Findings): void {
  const { free, pricing, providers } = entry.value;
  if (free || isPriced(pricing) || providers.every((mapping) => isPriced(mapping.pricing))) return;
  findings.warn(
    placeOf(entry, 'id'),
    `the model "${entry.id}" has no price, so the cost of its requests is unknown`,
    'write `pricing`, `pricing: unknown`, or `free: true`',
  );
}

const isPriced = (block: PricingBlock | undefined): boolean => block === 'unknown' || prices(block ?? {}).length > 0;

/** All prices of a block, each with its path inside the block. */
function prices(block: PricingBlock): [Path, string][] {
  if (typeof block === 'string') return [];
  return Object.entries(block).flatMap(([name, price]): [Path, string][] => {
    if (typeof price === 'string') return [[[name], price]];
    if (Array.isArray(price)) return price.flatMap((tier, at) => textsIn(tier, [name, at]));
    return textsIn(price ?? {}, [name]);
  });
}

const textsIn = (part: object, path: Path): [Path, string][] =>
  Object.entries(part).flatMap(([name, value]): [Path, string][] => (typeof value === 'string' ? [[[...path, name], value]] : []));
