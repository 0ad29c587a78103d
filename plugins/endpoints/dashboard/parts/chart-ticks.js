/** The positions and labels of the ticks on the axes of a chart. */
import { isUtc, yearOf } from './format.js';
import { steps } from './query.js';

/**
 * Ticks at round values from 0 to `top`, at least 30 pixels apart.
 * @param {number} top @param {number} height @param {(value: number) => string} format
 */
export function valueTicks(top, height, format) {
  const least = top / Math.max(1, Math.floor(height / 30));
  const size = 10 ** Math.floor(Math.log10(least));
  const step = size * ([1, 2, 5].find((one) => one * size >= least) ?? 10);
  const ticks = Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => ({ value: at * step, label: format(at * step) }));
  // two ticks with the same label are one, for example where the step is half a request
  return aligned(ticks.filter(({ label }, at) => label !== ticks[at - 1]?.label));
}

/**
 * Ticks of a logarithmic axis: at powers of ten, and between these where there is room.
 * @param {{ low: number, top: number }} ends @param {number} height @param {(value: number) => string} format
 */
export function logTicks({ low, top }, height, format) {
  const perDecade = height / Math.log10(top / low);
  const within = perDecade >= 90 ? [1, 2, 5] : perDecade >= 50 ? [1, 3] : [1];
  const decades = Array.from({ length: Math.ceil(Math.log10(top / low)) + 1 }, (_, at) => low * 10 ** at);
  return decades
    .flatMap((decade) => within.map((one) => one * decade))
    .filter((value) => value <= top)
    .map((value) => ({ value, label: format(value) }));
}

const figure = /^(\D*[\d,]+)(?:\.(\d+))?(\D*)$/;

/** Gives all labels of the same unit the same number of decimals. @param {{ value: number, label: string }[]} ticks */
function aligned(ticks) {
  const decimals = new Map();
  for (const { label } of ticks) {
    const [, , part = '', unit] = figure.exec(label) ?? [];
    decimals.set(unit, Math.max(decimals.get(unit) ?? 0, part.length));
  }
  return ticks.map(({ value, label }) => {
    const [, whole, part = '', unit] = figure.exec(label) ?? [];
    const most = decimals.get(unit);
    return { value, label: value === 0 || whole === undefined || most === 0 ? label : `${whole}.${part.padEnd(most, '0')}${unit}` };
  });
}

/** The milliseconds from the clock of the shown zone to UTC. @param {number} at @param {boolean} utc */
const shift = (at, utc) => (utc ? 0 : new Date(at).getTimezoneOffset() * 60_000);

/** The moment at which the clock of the shown zone has this time. @param {number} clock as if it were UTC @param {boolean} utc */
function momentAt(clock, utc) {
  if (utc) return clock;
  const read = new Date(clock);
  const [year, month, day] = [read.getUTCFullYear(), read.getUTCMonth(), read.getUTCDate()];
  return new Date(year, month, day, read.getUTCHours(), read.getUTCMinutes(), read.getUTCSeconds()).getTime();
}

const labelWidth = 72;
const monthWidth = 44;
const week = 7 * 86_400_000;
const month = 30.4 * 86_400_000;
/** A longer range has ticks at months, not at weeks. */
const manyMonths = 6 * month;

/**
 * Ticks at full hours, days, weeks or months of the shown zone.
 * @param {{ from: number, to: number }} range @param {number} width @param {boolean} [utc]
 */
export function timeTicks({ from, to }, width, utc = isUtc()) {
  // the chart is folded, so it has no width
  if (width <= 0) return [];
  const least = ((to - from) * labelWidth) / width;
  if (to - from > manyMonths) return monthTicks({ from, to }, ((to - from) * monthWidth) / width / month);
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / week) * week;
  const ticks = [];
  for (let clock = Math.ceil((from - shift(from, utc)) / step) * step; momentAt(clock, utc) <= to; clock += step) {
    ticks.push(momentAt(clock, utc));
  }
  // an hour that the clock leaves out (summer time) gives the same moment as the next hour
  return [...new Set(ticks)].map((at) => ({ at, label: labelOf(at, utc) }));
}

/** The start of a month. `Date` takes the year 0 for 1900. @param {number} number the number of months since the year 0 */
const beginOf = (number) => (isUtc() ? Date.UTC(0, number - 1900 * 12) : new Date(0, number - 1900 * 12).getTime());

/** @param {{ from: number, to: number }} range @param {number} least the smallest distance of two ticks, in months */
function monthTicks({ from, to }, least) {
  const step = [1, 2, 3, 6].find((one) => one >= least) ?? 12 * Math.ceil(least / 12);
  const ticks = [];
  for (let number = Math.floor(Number(yearOf(from)) / step) * step * 12; ; number += step) {
    const at = beginOf(number);
    if (at > to) return ticks;
    if (at >= from) ticks.push({ at, label: number % 12 === 0 ? yearOf(at) : monthOf(at) });
  }
}

/** @param {number} at */
const monthOf = (at) => new Date(at).toLocaleDateString('en-GB', { month: 'short', ...(isUtc() && { timeZone: 'UTC' }) });

/** The label of a tick: the time, or the day where the time is midnight. @param {number} at @param {boolean} utc */
function labelOf(at, utc) {
  const date = new Date(at);
  const zone = utc ? { timeZone: 'UTC' } : {};
  const time = date.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(at % 60_000 !== 0 && { second: '2-digit' }),
    ...zone,
  });
  return time === '00:00' ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...zone }) : time;
}
