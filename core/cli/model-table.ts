import type { Config, Model } from '../config.ts';
import { formatDollars, parseDollars } from '../money.ts';

/** The catalogue as a table for a terminal: prices in dollars per million tokens. */
export function modelTable({ models, providers }: Config): string {
  const rows = models.map((model) => [
    model.id,
    model.providers.map(({ providerId }) => (providers.get(providerId)?.missing === null ? providerId : `(${providerId})`)).join(' '),
    model.context_length === 0 ? '–' : String(model.context_length),
    perMillion(model.pricing.prompt ?? model.providers[0]?.pricing?.prompt),
    perMillion(model.pricing.completion ?? model.providers[0]?.pricing?.completion),
    abilities(model),
  ]);
  const table = [['MODEL', 'PROVIDERS', 'CONTEXT', 'IN $/M', 'OUT $/M', 'CAN'], ...rows];
  const widths = (table[0] as string[]).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join('  ').trimEnd());
  return `${lines.join('\n')}\n\nA provider in brackets is off: its key is not set.\n`;
}

const isNumber = (column: number): boolean => column >= 2 && column <= 4;

function perMillion(price: string | undefined): string {
  const pico = parseDollars(price ?? '');
  return pico === undefined ? '–' : formatDollars(pico * 1_000_000n);
}

const abilities = ({ providers }: Model): string =>
  (['reasoning', 'tools', 'vision'] as const).filter((ability) => providers.some((mapping) => mapping[ability] !== null && mapping[ability] !== false)).join(' ');
