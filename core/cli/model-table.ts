import type { Config, Model } from '../config.ts';
import { formatDollars, parseDollars } from '../money.ts';
import { tableOf } from '../table.ts';

/** The catalogue as a table for a terminal: prices in dollars per million tokens. */
export function modelTable({ models, providers }: Config): string {
  const nameOf = (providerId: string): string => (providers.get(providerId)?.missing === null ? providerId : `(${providerId})`);
  const table = tableOf(models, [
    { title: 'MODEL', read: ({ id }) => id },
    { title: 'PROVIDERS', read: (model) => model.providers.map(({ providerId }) => nameOf(providerId)).join(' ') },
    { title: 'CONTEXT', isNumber: true, read: (model) => (model.context_length === 0 ? '–' : String(model.context_length)) },
    { title: 'IN $/M', isNumber: true, read: (model) => perMillion(priceOf(model, 'prompt')) },
    { title: 'OUT $/M', isNumber: true, read: (model) => perMillion(priceOf(model, 'completion')) },
    { title: 'CAN', read: abilities },
  ]);
  return `${table}\nA provider in brackets is off: its key is not set.\n`;
}

/** The price of the model, or else that of its first provider. */
const priceOf = ({ pricing, providers }: Model, kind: 'prompt' | 'completion'): string | undefined =>
  pricing[kind] ?? providers[0]?.pricing?.[kind];

function perMillion(price: string | undefined): string {
  const pico = parseDollars(price ?? '');
  return pico === undefined ? '–' : formatDollars(pico * 1_000_000n);
}

const abilities = ({ providers }: Model): string =>
  (['reasoning', 'tools', 'vision'] as const)
    .filter((ability) => providers.some((mapping) => mapping[ability] !== null && mapping[ability] !== false))
    .join(' ');
