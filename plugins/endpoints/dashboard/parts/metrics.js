/** The main figures, each with its change since the time before. */
import { html } from './html.js';
import { aboutSum } from './estimate.js';
import { compact, costPerRequest, count, duration, money, numberOf, percent, plural, speed } from './format.js';
import { levelsOf } from './levels.js';
import { filled } from './request-histogram.js';

/**
 * @param {{ data: any, range: { from: number, to: number }, alerts: any }} props
 * `alerts`: the answer of `/api/alerts`; a figure that an alert is about is red
 */
export function Metrics({ data, range, alerts }) {
  const isAlert = (kind) => alerts?.data.some(({ watches }) => watches === kind);
  return html`<dl class="metrics">
    ${figuresOf(data, range).map((figure) => html`<${Metric} key=${figure.name} figure=${figure} isAlert=${isAlert(figure.watched)} />`)}
  </dl>`;
}

/** `watched`: the kind of the alerts about a figure. */
function figuresOf(data, range) {
  const { total, cacheHits } = data;
  const { trend, level, change } = courseOf(data, range);
  const cached = cacheHits === null ? '' : ` · ${percent(cacheHits, total.requests)} cached`;
  const p99 = total.latencyP99Ms == null ? '' : ` · p99 ${duration(total.latencyP99Ms)}`;
  const pace = total.tokensPerSecond == null ? '' : ` · ${speed(total.tokensPerSecond)} tok/s`;
  return [
    {
      name: 'Requests',
      value: count(total.requests),
      change: change(({ requests }) => requests),
      trend: trend(({ requests }) => requests),
      note: `${paceOf(total.requests, range)}${cached}`,
    },
    {
      name: 'Errors',
      value: percent(total.errors, total.requests),
      change: change(rate, 'less'),
      trend: trend(({ errors }) => errors),
      note: plural(total.errors, 'request'),
      isBad: total.errors > 0,
      watched: 'errors',
    },
    {
      name: 'Cost',
      value: aboutSum(money(total.cost), total),
      change: change(({ cost }) => numberOf(cost)),
      trend: trend(({ cost }) => Number(cost ?? 0)),
      note:
        total.unpriced > 0 ? `${count(total.unpriced)} without a price` : html`${aboutSum(money(costPerRequest(total)), total)} a request`,
      title: total.cost === null ? undefined : `$${total.cost}`,
      watched: 'cost',
    },
    {
      name: 'Tokens',
      value: aboutSum(compact(tokensOf(total)), total),
      change: change(tokensOf),
      trend: trend(tokensOf),
      note: html`${aboutSum(compact(total.reasoningTokens), total)} for reasoning`,
    },
    {
      name: 'Latency p95',
      value: duration(total.latencyP95Ms),
      change: change(({ latencyP95Ms }) => latencyP95Ms, 'less'),
      trend: level(({ latencyP95Ms }) => latencyP95Ms),
      note: `p50 ${duration(total.latencyP50Ms)}${p99}`,
      watched: 'latency',
    },
    {
      name: 'First token p50',
      value: duration(total.timeToFirstTokenP50Ms),
      change: change(({ timeToFirstTokenP50Ms }) => timeToFirstTokenP50Ms, 'less'),
      trend: level(({ timeToFirstTokenP50Ms }) => timeToFirstTokenP50Ms),
      note: `p95 ${duration(total.timeToFirstTokenP95Ms)}${pace}`,
    },
  ];
}

/** Functions for the course of a figure in the range, and its change since the range before. Each gets a function that reads the figure. */
function courseOf({ total, earlier, points, bucketMs }, range) {
  const { at } = filled(points, range, bucketMs);
  return {
    trend: (read) => at.map((point) => (point === null ? 0 : (read(point) ?? 0))),
    level: (read) => levelsOf(at, read),
    // if the time before is not completely on record, no change is shown
    change: (read, better) => (earlier === null ? null : changeOf(read(total), read(earlier), better)),
  };
}

function Metric({ figure, isAlert }) {
  const { name, value, change, trend, note, title, isBad } = figure;
  return html`<div class="metric ${isAlert ? 'metric-alert' : ''}" title=${title}>
    <dt>${name}${change !== null && html` <${Change} change=${change} />`}</dt>
    <dd class="metric-value ${isBad || isAlert ? 'is-bad' : ''}">${value}</dd>
    <dd class="metric-note">${note ?? ' '}</dd>
    <dd class="metric-trend ${name === 'Errors' ? 'is-errors' : ''}"><${Spark} values=${trend} /></dd>
  </div>`;
}

const Change = ({ change }) =>
  html`<span class="change change-${change.tone}" title="compared with the same length of time before">${change.text}</span>`;

/** @param {number} requests @param {{ from: number, to: number }} range */
function paceOf(requests, { from, to }) {
  const [unit, ms] = requests / ((to - from) / 60_000) >= 1 ? ['a minute', 60_000] : ['an hour', 3_600_000];
  return `${Number(((requests * ms) / (to - from)).toPrecision(2))} ${unit}`;
}

const rate = ({ errors, requests }) => (requests === 0 ? null : errors / requests);

const tokensOf = ({ promptTokens, completionTokens }) => promptTokens + completionTokens;

/**
 * The change in words; null where it is too small to show.
 * @param {number | null} now @param {number | null} then @param {'less'} [better]
 */
export function changeOf(now, then, better) {
  if (now === null || then === null || then === 0 || now === then) return null;
  const share = now / then - 1;
  const size = Math.abs(share);
  // a hundredfold change means that there was hardly anything before
  if (size < 0.005 || share > 99) return null;
  const inPercent = `${share > 0 ? '+' : '−'}${(100 * size).toFixed(size < 0.1 ? 1 : 0)} %`;
  const text = share > 9 ? `×${(share + 1).toFixed(0)}` : inPercent;
  return { text, tone: better === undefined ? 'plain' : share < 0 ? 'good' : 'bad' };
}

/** @param {{ values: number[] }} props */
function Spark({ values }) {
  const top = Math.max(...values);
  const isEmpty = values.length < 2 || top === 0;
  const places = values.map((value, at) => `${((100 * at) / (values.length - 1)).toFixed(2)} ${(23 - (21 * value) / top).toFixed(2)}`);
  const line = places.join('L');
  return html`<svg class="spark" aria-hidden="true" viewBox="0 0 100 24" preserveAspectRatio="none">
    ${!isEmpty && html`<path class="spark-fill" d=${`M0 24L${line}L100 24Z`} /><path class="spark-line" d=${`M${line}`} />`}
  </svg>`;
}
