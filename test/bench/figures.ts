/** Figures as a table: the measured value, that of the floor, their ratio, and the target. */
import { availableParallelism, cpus, totalmem } from 'node:os';

export interface Figure {
  readonly what: string;
  readonly gateway: string;
  /** The value of the floor, measured in the same run. */
  readonly floor?: string;
  readonly ratio?: number;
  readonly target?: string;
  readonly isMet?: boolean;
}

export interface Subject {
  readonly name: string;
  /** The subject and the method of the measurement, in one line. */
  readonly about: string;
  measure(): Promise<readonly Figure[]>;
}

export const microseconds = (ms: number): string => `${(ms * 1000).toFixed(ms < 0.01 ? 2 : 1)} µs`;
export const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
export const perSecond = (rate: number): string => `${Math.round(rate)}/s`;

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[half] as number) : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
}

export const percentile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? NaN;

interface Pair {
  /** The values of each round. */
  readonly gateway: readonly number[];
  readonly floor: readonly number[];
  readonly show: (value: number) => string;
  readonly most?: number;
  readonly least?: number;
}

/**
 * A figure whose ratio to the floor should stay at or below (or at or above) a limit. The ratio is the median of the rounds'
 * own ratios: a busy moment of the machine changes both values of one round, not one of the two medians.
 */
export function ratioFigure(what: string, { gateway, floor, show, most, least }: Pair): Figure {
  const ratio = median(gateway.map((value, round) => value / (floor[round] as number)));
  const target = most !== undefined ? `≤ ${most} ×` : least !== undefined ? `≥ ${least} ×` : '';
  const isMet = ratio <= (most ?? Infinity) && ratio >= (least ?? 0);
  return { what, gateway: show(median(gateway)), floor: show(median(floor)), ratio, target, ...(target !== '' && { isMet }) };
}

export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, gateway, floor = '', ratio, target = '', isMet }) => [
    what,
    gateway,
    floor,
    ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    target,
    isMet === undefined ? '' : isMet ? 'met' : 'MISSED',
  ]);
  const table = [['', 'gateway', 'floor', 'ratio', 'target', ''], ...rows];
  const widths = (table[0] as string[]).map((_, column) => Math.max(...table.map((row) => (row[column] as string).length)));
  return table
    .map((row) =>
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number))).join('  ')}`.trimEnd(),
    )
    .join('\n');
}

export function machine(): string {
  return `${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, node ${process.version}, ${process.platform}`;
}
