/** Attempts at a provider over time, as a strip: how many failed, and whether callers noticed. */
import { html } from './html.js';
import { count, minute, plural, span } from './format.js';
import { timeNow } from './time-now.js';

/**
 * The results of attempts in words. A failure reached the caller if no other attempt answered.
 * @param {{ requests: number, errors: number, rescued: number }} tried
 */
export function wordsOfTried({ requests, errors, rescued }) {
  if (errors === 0) return plural(requests, 'attempt');
  const lost = rescued === 0 ? 'none rescued' : `${count(errors - rescued)} not rescued`;
  return `${count(errors)} of ${plural(requests, 'attempt')} failed, ${rescued === errors ? 'all rescued' : lost}`;
}

/** A bucket counts as bad if at least this share of its attempts failed, and at least this many. */
const badShare = 0.15;
const badCount = 3;

/**
 * The time in which most attempts failed, with the adjacent bad times; null where no time was bad.
 * @param {number[][]} points @param {number} bucketMs @returns {{ from: number, to: number } | null}
 */
export function worstOf(points, bucketMs) {
  const bad = new Map(
    points
      .filter(([, requests = 0, errors = 0]) => errors >= badCount && errors >= badShare * requests)
      .map(([at = 0, , errors = 0]) => [at, errors]),
  );
  const [worst] = [...bad].sort(([, a], [, b]) => b - a);
  if (worst === undefined) return null;
  let [from] = worst;
  let to = from + bucketMs;
  while (bad.has(from - bucketMs)) from -= bucketMs;
  while (bad.has(to)) to += bucketMs;
  return { from, to };
}

/** @param {{ tried: { points: number[][] }, bucketMs: number }} props */
export function Worst({ tried, bucketMs }) {
  const worst = worstOf(tried.points, bucketMs);
  if (worst === null) return null;
  const when = worst.to >= timeNow() ? `since ${minute(worst.from)}` : `most from ${span(worst.from, worst.to)}`;
  return html`<span class="soft">${when}</span>`;
}

/**
 * The parts of one bucket, from above: answered, failed but the request was answered, failed. Each part above zero has a visible height.
 * @param {{ requests: number, errors: number, rescued: number }} bucket @returns {[string, number, number][]}
 */
function partsOf({ requests, errors, rescued }) {
  const heightOf = (many) => (many === 0 ? 0 : Math.max(0.8, (10 * many) / requests));
  const bad = heightOf(errors - rescued);
  const saved = Math.min(10 - bad, heightOf(rescued));
  return [
    ['strip-ok', 0, 10 - bad - saved],
    ['strip-rescued', 10 - bad - saved, saved],
    ['strip-bad', 10 - bad, bad],
  ];
}

/**
 * Each part of the strip is one bucket: grey without attempts, else teal, amber for
 * failed attempts whose request was answered, red for the other failed attempts.
 * @param {{ tried: { provider: string, requests: number, errors: number, rescued: number, points: number[][] },
 *   range: { from: number, to: number }, bucketMs: number }} props
 */
export function Availability({ tried, range, bucketMs }) {
  const known = new Map(tried.points.map(([at, requests, errors, rescued]) => [at, { requests, errors, rescued }]));
  const first = Math.floor(range.from / bucketMs) * bucketMs;
  const buckets = Array.from(
    { length: Math.max(1, Math.min(400, Math.ceil((range.to - first) / bucketMs))) },
    (_, at) => first + at * bucketMs,
  );
  return html`<svg
    class="strip"
    role="img"
    aria-label=${`${tried.provider}: ${wordsOfTried(tried)}`}
    viewBox=${`0 0 ${buckets.length} 10`}
    preserveAspectRatio="none"
  >${buckets.map((at, x) => {
    const one = known.get(at);
    const title = html`<title>${minute(at)}: ${one === undefined ? 'no attempts' : wordsOfTried(one)}</title>`;
    if (one === undefined) return html`<rect key=${at} class="strip-none" x=${x + 0.08} y="4" width="0.84" height="2">${title}</rect>`;
    return html`<g key=${at}>
      ${title}
      ${partsOf(one).map(
        ([name, y, height]) => height > 0 && html`<rect key=${name} class=${name} x=${x + 0.08} y=${y} width="0.84" height=${height} />`,
      )}
    </g>`;
  })}</svg>`;
}
