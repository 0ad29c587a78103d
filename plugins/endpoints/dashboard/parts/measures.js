/** The measures of a breakdown. */
import { aboutSum } from './estimate.js';
import { compact, costPerRequest, count, duration, money, numberOf, percent, speed } from './format.js';

const share = (value) => (value === null || value === undefined ? '–' : percent(value, 1));

/**
 * `of` reads the measure from a row. `isRate`: the parts do not add up to the whole. `isCounted`: the measure comes from counts of
 * tokens, which may be estimates.
 * @typedef {{ label: string, of: (row: any) => number | null, format: (value: number | null) => string, isRate?: boolean,
 *   isCounted?: boolean }} Measure
 */

/** @type {Record<string, Measure>} */
export const measures = {
  cost: { label: 'Cost', of: ({ cost }) => numberOf(cost), format: money, isCounted: true },
  requests: { label: 'Requests', of: ({ requests }) => requests, format: count },
  errors: { label: 'Errors', of: ({ errors }) => errors, format: count },
  'error-rate': {
    label: 'Error rate',
    of: ({ errors, requests }) => (requests === 0 ? null : errors / requests),
    format: share,
    isRate: true,
  },
  rescued: { label: 'Rescued', of: ({ rescued = null }) => rescued, format: count },
  'cost-per-request': { label: 'Cost per request', of: costPerRequest, format: money, isRate: true, isCounted: true },
  'tokens-in': { label: 'Tokens in', of: ({ promptTokens }) => promptTokens, format: compact, isCounted: true },
  'tokens-out': { label: 'Tokens out', of: ({ completionTokens }) => completionTokens, format: compact, isCounted: true },
  'tokens-reasoning': { label: 'Reasoning tokens', of: ({ reasoningTokens }) => reasoningTokens, format: compact, isCounted: true },
  'latency-p50': { label: 'Latency p50', of: ({ latencyP50Ms }) => latencyP50Ms, format: duration, isRate: true },
  'latency-p95': { label: 'Latency p95', of: ({ latencyP95Ms }) => latencyP95Ms, format: duration, isRate: true },
  'latency-p99': { label: 'Latency p99', of: ({ latencyP99Ms = null }) => latencyP99Ms, format: duration, isRate: true },
  'ttft-p50': { label: 'First token p50', of: ({ timeToFirstTokenP50Ms }) => timeToFirstTokenP50Ms, format: duration, isRate: true },
  'ttft-p95': { label: 'First token p95', of: ({ timeToFirstTokenP95Ms }) => timeToFirstTokenP95Ms, format: duration, isRate: true },
  speed: { label: 'Tokens/s', of: ({ tokensPerSecond = null }) => tokensPerSecond, format: speed, isRate: true },
};

/** The measures of attempts. Tokens and cost belong to requests. @type {Record<string, Measure>} */
const attemptMeasures = {
  ...Object.fromEntries(Object.entries(measures).filter(([name]) => /^(?:error|rescued|latency)/.test(name))),
  requests: { ...measures.requests, label: 'Attempts' },
  errors: { ...measures.errors, label: 'Failed' },
  'error-rate': { ...measures['error-rate'], label: 'Share that failed' },
};

/** The measures of what is summed up by a dimension. @param {string} by */
export const measuresOf = (by) => (by.startsWith('attempt.') ? attemptMeasures : measures);

/** The text of a measure, marked where it contains estimates. @param {Measure} measure @param {any} row */
export const written = ({ of, format, isCounted }, row) => (isCounted ? aboutSum(format(of(row)), row) : format(of(row)));

/** The figure by which the server chooses the largest rows. @param {string} metric */
export function rankOf(metric) {
  if (metric === 'errors') return metric;
  return metric.startsWith('cost') ? 'cost' : metric.startsWith('tokens-') ? 'tokens' : 'requests';
}
