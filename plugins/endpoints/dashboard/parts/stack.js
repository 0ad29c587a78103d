/** Turns the points of many values into the lines of a chart: stacked with all others as one line, or each line for itself. */
import { isRough } from './estimate.js';
import { filled } from './request-histogram.js';
import { nameOf } from './value-name.js';

const palette = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];

/**
 * The whole minus its parts; 0 where the difference is only the rounding of floats.
 * @param {number} whole @param {number[]} parts
 */
function restOf(whole, parts) {
  const rest = whole - parts.reduce((sum, part) => sum + part, 0);
  return rest > whole * 1e-9 ? rest : 0;
}

/** The values whose sum is more than 0, the largest first. @param {any[]} points @param {(point: any) => number} of */
function largest(points, of) {
  const sums = new Map();
  for (const point of points) sums.set(point.value, (sums.get(point.value) ?? 0) + of(point));
  return [...sums]
    .filter(([, sum]) => sum > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
}

/**
 * The lines of a stacked chart: the largest values, and all others as the line "Other".
 * @param {any[]} points of the largest values, with `at` and `value`
 * @param {{ from: number, to: number }} range
 * @param {{ all: any[], bucketMs: number, of: (point: any) => number, top: number, isCounted?: boolean, none?: string }} how
 *   `all`: the points of all values together, from which "Other" is computed. `isCounted`: as in a measure
 */
export function stackOf(points, range, { all, bucketMs, of, top, isCounted = false, none = '(none)' }) {
  const { times, at: wholes } = filled(all, range, bucketMs);
  const place = new Map(times.map((time, at) => [time, at]));
  const own = largest(points, of).slice(0, top);
  const empty = () => ({ values: times.map(() => 0), estimated: times.map(() => false) });
  const lines = own.map((name, at) => ({ label: nameOf(name, none), colour: palette[at % palette.length], ...empty() }));
  for (const point of points) {
    const at = place.get(point.at);
    const line = lines[own.indexOf(point.value)];
    if (at === undefined || line === undefined) continue;
    line.values[at] += of(point);
    line.estimated[at] ||= isCounted && isRough(point);
  }
  const shownAt = (at) => lines.map(({ values }) => values[at]);
  const rest = {
    label: 'Other',
    colour: '--c0',
    values: wholes.map((point, at) => (point === null ? 0 : restOf(of(point), shownAt(at)))),
    estimated: wholes.map((point) => isCounted && point !== null && isRough(point)),
  };
  if (rest.values.some((value) => value > 0)) lines.push(rest);
  return { times, lines: lines.length === 0 ? [{ ...rest, label: 'Nothing' }] : lines };
}

/**
 * The lines of a measure that does not add up: one line for each of the values with most requests. Null means that nothing was
 * measured, which is not the same as 0.
 * @param {any[]} points of the largest values, with `at`, `value` and `requests`
 * @param {{ from: number, to: number }} range
 * @param {{ bucketMs: number, of: (point: any) => number | null, top: number, isCounted?: boolean, none?: string }} how as for `stackOf`
 */
export function ratesOf(points, range, { bucketMs, of, top, isCounted = false, none = '(none)' }) {
  const { times } = filled([], range, bucketMs);
  const measured = points.filter((point) => of(point) !== null);
  const lines = largest(measured, ({ requests }) => requests)
    .slice(0, top)
    .map((name, index) => {
      const known = new Map(measured.filter(({ value }) => value === name).map((point) => [point.at, point]));
      const at = times.map((time) => known.get(time) ?? null);
      return {
        label: nameOf(name, none),
        colour: palette[index % palette.length],
        values: at.map((point) => (point === null ? null : of(point))),
        estimated: at.map((point) => isCounted && point !== null && isRough(point)),
      };
    });
  return { times, lines };
}
