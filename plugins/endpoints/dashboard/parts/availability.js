/** Attempts at a provider over time, as a strip: how many failed, and whether callers noticed. */
import { html } from './html.js';
import { clock, count, plural } from './format.js';

/** What came of attempts, in words. @param {{ requests: number, errors: number, rescued: number }} tried */
export function wordsOfTried({ requests, errors, rescued }) {
  if (errors === 0) return plural(requests, 'attempt');
  return `${count(errors)} of ${plural(requests, 'attempt')} failed, ${rescued === errors ? 'all rescued' : rescued === 0 ? 'none rescued' : `${count(rescued)} rescued`}`;
}

/**
 * Each part of the strip is one bucket: grey without attempts, green, and from below the share that failed: red, or amber where another attempt made all of it good.
 * @param {{ tried: { provider: string, requests: number, errors: number, rescued: number, points: number[][] }, range: { from: number, to: number }, bucketMs: number }} props
 */
export function Availability({ tried, range, bucketMs }) {
  const known = new Map(tried.points.map(([at, requests, errors, rescued]) => [at, { requests, errors, rescued }]));
  const first = Math.floor(range.from / bucketMs) * bucketMs;
  const buckets = Array.from({ length: Math.max(1, Math.min(400, Math.ceil((range.to - first) / bucketMs))) }, (_, at) => first + at * bucketMs);
  return html`<svg class="strip" role="img" aria-label=${`${tried.provider}: ${wordsOfTried(tried)}`} viewBox=${`0 0 ${buckets.length} 10`} preserveAspectRatio="none">${buckets.map((at, x) => {
    const one = known.get(at);
    const title = html`<title>${clock(at)}: ${one === undefined ? 'no attempts' : wordsOfTried(one)}</title>`;
    if (one === undefined) return html`<rect key=${at} class="strip-none" x=${x + 0.08} y="4" width="0.84" height="2">${title}</rect>`;
    const bad = one.errors === 0 ? 0 : Math.max(2.5, (10 * one.errors) / one.requests);
    return html`<g key=${at}>${title}<rect class="strip-ok" x=${x + 0.08} y="0" width="0.84" height=${10 - bad} /><rect class=${one.rescued === one.errors ? 'strip-rescued' : 'strip-bad'} x=${x + 0.08} y=${10 - bad} width="0.84" height=${bad} /></g>`;
  })}</svg>`;
}
