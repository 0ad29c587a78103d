/** Where the lines of a chart's axes stand, and what is written at them. */
import { isUtc } from './format.js';
import { steps } from './query.js';

/** Round values from nothing to the top, no closer than they can be read. @param {number} top @param {number} height @param {(value: number) => string} format */
export function valueTicks(top, height, format) {
  const least = top / Math.max(1, Math.floor(height / 30));
  const size = 10 ** Math.floor(Math.log10(least));
  const step = size * ([1, 2, 5].find((one) => one * size >= least) ?? 10);
  const ticks = Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => ({ value: at * step, label: format(at * step) }));
  // half a request is none
  return ticks.filter(({ label }, at) => label !== ticks[at - 1]?.label);
}

/** From the clock that is shown to the moment. @param {number} at */
const shift = (at) => (isUtc() ? 0 : new Date(at).getTimezoneOffset() * 60_000);

const labelWidth = 72;
const week = 7 * 86_400_000;

/** Full hours, days and weeks of the zone that is shown. @param {{ from: number, to: number }} range @param {number} width */
export function timeTicks({ from, to }, width) {
  // a chart that is folded away
  if (width <= 0) return [];
  const least = ((to - from) * labelWidth) / width;
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / week) * week;
  const ticks = [];
  for (let at = Math.ceil((from - shift(from)) / step) * step; at + shift(at) <= to; at += step) ticks.push({ at: at + shift(at), label: labelOf(at + shift(at)) });
  return ticks;
}

/** The hour, or the day where one begins. */
function labelOf(at) {
  const date = new Date(at);
  const zone = isUtc() ? { timeZone: 'UTC' } : {};
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...(at % 60_000 !== 0 && { second: '2-digit' }), ...zone });
  return time === '00:00' ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...zone }) : time;
}
