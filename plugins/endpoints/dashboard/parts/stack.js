/** Points of many values as a stack: the largest with colours of their own, the rest together. */
import { filled } from './request-histogram.js';

export const palette = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];

/** Nothing where the parts are the whole, but for what floats lose. @param {number} whole @param {number[]} parts */
function restOf(whole, parts) {
  const rest = whole - parts.reduce((sum, part) => sum + part, 0);
  return rest > whole * 1e-9 ? rest : 0;
}

/**
 * @param {any[]} points of the largest values, with `at` and `value`
 * @param {{ from: number, to: number }} range
 * @param {{ all: any[], bucketMs: number, of: (point: any) => number, top: number, isCounted?: boolean, none?: string }} how
 *   `all`: points of everything together; what has no line of its own is the rest of it. `isCounted` as of a measure
 */
export function stackOf(points, range, { all, bucketMs, of, top, isCounted = false, none = '(none)' }) {
  const { times, at: wholes } = filled(all, range, bucketMs);
  const place = new Map(times.map((time, at) => [time, at]));
  const sums = new Map();
  for (const point of points) sums.set(point.value, (sums.get(point.value) ?? 0) + of(point));
  const names = [...sums].filter(([, sum]) => sum > 0).sort(([, a], [, b]) => b - a).map(([name]) => name);
  const own = names.slice(0, top);
  const empty = () => ({ values: times.map(() => 0), estimated: times.map(() => false) });
  const lines = own.map((name, at) => ({ label: name ?? none, colour: palette[at % palette.length], ...empty() }));
  for (const point of points) {
    const at = place.get(point.at);
    const line = lines[own.indexOf(point.value)];
    if (at === undefined || line === undefined) continue;
    line.values[at] += of(point);
    line.estimated[at] ||= isCounted && point.estimated > 0;
  }
  const rest = { label: 'Other', colour: '--c0', values: wholes.map((point, at) => (point === null ? 0 : restOf(of(point), lines.map(({ values }) => values[at])))), estimated: wholes.map((point) => isCounted && (point?.estimated ?? 0) > 0) };
  if (rest.values.some((value) => value > 0)) lines.push(rest);
  return { times, lines: lines.length === 0 ? [{ ...rest, label: 'Nothing' }] : lines };
}
