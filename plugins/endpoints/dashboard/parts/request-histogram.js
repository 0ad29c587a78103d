/** The chart of requests over the range of the page, with errors in another colour. Dragging over it zooms the whole page. */
import { html } from './html.js';
import { count } from './format.js';
import { go } from './location.js';
import { TimeChart } from './time-chart.js';
import { hrefOfRange } from './time-range.js';

/**
 * All buckets of a range with their points; a bucket without requests has null.
 * @param {any[]} points @param {{ from: number, to: number }} range @param {number} bucketMs
 */
export function filled(points, { from, to }, bucketMs) {
  const known = new Map(points.map((point) => [point.at, point]));
  const first = Math.floor(from / bucketMs) * bucketMs;
  const times = Array.from({ length: Math.max(1, Math.min(1000, Math.ceil((to - first) / bucketMs))) }, (_, at) => first + at * bucketMs);
  return { times, at: times.map((time) => known.get(time) ?? null) };
}

/** Returns the function that zooms the page to a range. @param {URLSearchParams} params */
export const zoomOf = (params) => (from, to) =>
  go(hrefOfRange(params, { from: new Date(from).toISOString(), to: new Date(to).toISOString() }));

/**
 * @param {{ points: any[], bucketMs: number, range: { from: number, to: number }, params: URLSearchParams, height?: number,
 *   isBare?: boolean }} props
 */
export function RequestHistogram({ points, bucketMs, range, params, height = 84, isBare = true }) {
  const { times, at } = filled(points, range, bucketMs);
  const lines = [
    { label: 'Answered', colour: '--bar', values: at.map((point) => (point === null ? 0 : point.requests - point.errors)) },
    { label: 'Errors', colour: '--bad-mark', values: at.map((point) => point?.errors ?? 0) },
  ];
  // a page that is open for long has points that are older than its range
  const sum = (of) => at.reduce((total, point) => total + (point?.[of] ?? 0), 0);
  return html`<${TimeChart}
    title="Requests over time"
    summary=${`${count(sum('requests'))} requests, ${count(sum('errors'))} of them errors.`}
    times=${times}
    lines=${lines}
    range=${{ from: times[0], to: range.to }}
    bucketMs=${bucketMs}
    format=${count}
    height=${height}
    isBare=${isBare}
    onZoom=${zoomOf(params)}
  />`;
}
