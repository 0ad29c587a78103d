/** Points of many values as a stack: the largest with colours of their own, the rest together. */
import { filled } from './request-histogram.js';

export const palette = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];

/**
 * @param {any[]} points with `at` and `value`
 * @param {{ from: number, to: number }} range
 * @param {{ bucketMs: number, of: (point: any) => number, top: number, isCounted?: boolean, none?: string }} how `isCounted` as of a measure
 */
export function stackOf(points, range, { bucketMs, of, top, isCounted = false, none = '(none)' }) {
  const { times } = filled([], range, bucketMs);
  const place = new Map(times.map((time, at) => [time, at]));
  const sums = new Map();
  for (const point of points) sums.set(point.value, (sums.get(point.value) ?? 0) + of(point));
  const names = [...sums].filter(([, sum]) => sum > 0).sort(([, a], [, b]) => b - a).map(([name]) => name);
  const own = names.slice(0, top);
  const empty = () => ({ values: times.map(() => 0), estimated: times.map(() => false) });
  const lines = own.map((name, at) => ({ label: name ?? none, colour: palette[at % palette.length], ...empty() }));
  const rest = { label: 'Other', colour: '--c0', ...empty() };
  for (const point of points) {
    const at = place.get(point.at);
    if (at === undefined) continue;
    const line = lines[own.indexOf(point.value)] ?? rest;
    line.values[at] += of(point);
    line.estimated[at] ||= isCounted && point.estimated > 0;
  }
  if (names.length > top) lines.push(rest);
  return { times, lines: lines.length === 0 ? [{ ...rest, label: 'Nothing' }] : lines };
}
