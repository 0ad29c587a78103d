/** What a breakdown can measure. */
import { compact, count, duration, money } from './format.js';

const share = (value) => (value === null || value === undefined ? '–' : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`);
const dollars = ({ cost }) => (cost === null ? null : Number(cost));

/** `isRate`: parts of it do not add up to a whole. */
export const measures = {
  cost: { label: 'Cost', of: dollars, format: money },
  requests: { label: 'Requests', of: ({ requests }) => requests, format: count },
  errors: { label: 'Errors', of: ({ errors }) => errors, format: count },
  'error-rate': { label: 'Error rate', of: ({ errors, requests }) => (requests === 0 ? null : errors / requests), format: share, isRate: true },
  'cost-per-request': { label: 'Cost per request', of: ({ cost, requests, unpriced }) => (cost === null || requests <= unpriced ? null : Number(cost) / (requests - unpriced)), format: money, isRate: true },
  'tokens-in': { label: 'Tokens in', of: ({ promptTokens }) => promptTokens, format: compact },
  'tokens-out': { label: 'Tokens out', of: ({ completionTokens }) => completionTokens, format: compact },
  'tokens-reasoning': { label: 'Reasoning tokens', of: ({ reasoningTokens }) => reasoningTokens, format: compact },
  'latency-p50': { label: 'Latency p50', of: ({ latencyP50Ms }) => latencyP50Ms, format: duration, isRate: true },
  'latency-p95': { label: 'Latency p95', of: ({ latencyP95Ms }) => latencyP95Ms, format: duration, isRate: true },
  'ttft-p50': { label: 'First token p50', of: ({ timeToFirstTokenP50Ms }) => timeToFirstTokenP50Ms, format: duration, isRate: true },
  'ttft-p95': { label: 'First token p95', of: ({ timeToFirstTokenP95Ms }) => timeToFirstTokenP95Ms, format: duration, isRate: true },
};
