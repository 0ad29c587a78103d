/** Where the time of a request went: the gateway's own work, each attempt, the pauses between attempts, and behind them what is usual. */
import { html } from './html.js';
import { useData } from './api.js';
import { count, duration } from './format.js';
import { hrefOf } from './location.js';

/** When each attempt began. An old record does not say it: its attempts are drawn one after the other up to the end of the request. */
function startsOf({ attempts, durationMs }) {
  if (attempts.every(({ startedMs = null }) => startedMs !== null)) return attempts.map(({ startedMs }) => startedMs);
  const asked = attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
  let at = Math.max(0, durationMs - asked);
  return attempts.map((attempt) => (at += attempt.durationMs) - attempt.durationMs);
}

/** The shortest pause that is shown, in milliseconds. A shorter one is the gateway's own work between two attempts. */
const shortest = 20;

function rowsOf(record) {
  const { attempts, durationMs } = record;
  const starts = startsOf(record);
  const ends = attempts.map((attempt, at) => starts[at] + attempt.durationMs);
  // attempts are listed in the order in which they ended, so of attempts at one time the first in the list may not have begun first
  const own = attempts.length === 0 ? durationMs : Math.min(...starts);
  const rows = attempts.flatMap((attempt, at) => {
    const before = Math.max(own, ...ends.filter((_, other) => starts[other] < starts[at] || (starts[other] === starts[at] && other < at)));
    return starts[at] - before < shortest
      ? [rowOf(attempt, at, starts[at])]
      : [pause(before, starts[at], at), rowOf(attempt, at, starts[at])];
  });
  return {
    rows: [{ name: 'gateway', note: ownNote(record), parts: [{ kind: 'own', from: 0, to: own }], tone: '', text: duration(own) }, ...rows],
    end: Math.max(durationMs, ...ends, 1),
  };
}

/** The most plugins that are named. */
const mostNamed = 3;

/** The plugins that took a time that can be seen, the slowest first. Their time is that of the whole request. */
function ownNote({ timings }) {
  const slow = Object.entries(timings ?? {})
    .filter(([, ms]) => ms >= 1)
    .sort(([, a], [, b]) => b - a);
  const more = slow.length > mostNamed ? `, ${slow.length - mostNamed} more` : '';
  return slow.length === 0
    ? 'key, metadata, routing'
    : `in ${slow
        .slice(0, mostNamed)
        .map(([plugin, ms]) => `${plugin} ${duration(ms)}`)
        .join(', ')}${more}`;
}

const pause = (from, to, at) => ({
  name: 'waited',
  note: `before attempt ${at + 1}`,
  parts: [{ kind: 'gap', from, to }],
  tone: 'gap',
  text: duration(to - from),
});

function rowOf({ provider, outcome, status, error, durationMs, timeToFirstTokenMs: first, timeToAnswerMs: answer = first }, at, from) {
  const isAnswered = outcome === 'answered';
  // another attempt was quicker, which is no failure
  if (outcome === 'outrun') {
    return {
      name: `${at + 1} ${provider}`,
      note: outcome,
      parts: [{ kind: 'wait', from, to: from + durationMs }],
      tone: '',
      text: duration(durationMs),
    };
  }
  const steps = [
    ['wait', 0, first ?? 0],
    ['thought', first ?? 0, answer ?? 0],
    [isAnswered ? 'answer' : 'bad', answer ?? 0, durationMs],
  ];
  const parts = steps
    .filter(([kind, begin, end], place) => place === 2 || end > begin || (kind === 'wait' && first !== null))
    .map(([kind, begin, end]) => ({ kind, from: from + begin, to: from + end }));
  const thought = answer > first ? `reasoning ${duration(answer - first)}, ` : '';
  const said = isAnswered
    ? first === null
      ? 'answered in one piece'
      : `first token ${duration(first)}, ${thought}answer ${duration(durationMs - answer)}`
    : `${status ?? ''} ${outcome}`.trim();
  return {
    name: `${at + 1} ${provider}`,
    note: `${said}${error ? `: ${error}` : ''}`,
    parts,
    tone: isAnswered ? '' : 'bad',
    text: duration(durationMs),
  };
}

/** When the last attempt began, which is compared with other requests; 0, the start of the request, where it is the only attempt. */
const comparedFrom = (record) => (record.attempts.length > 1 ? (startsOf(record).at(-1) ?? 0) : 0);

/** The usual time of the first token and of the whole answer, each from its p50 to its p95. */
function bandsOf(typical, { stream }) {
  if (typical === null) return [];
  const { latencyP50Ms, latencyP95Ms, timeToFirstTokenP50Ms, timeToFirstTokenP95Ms } = typical;
  return [
    ['first', stream ? timeToFirstTokenP50Ms : null, timeToFirstTokenP95Ms],
    ['whole', latencyP50Ms, latencyP95Ms],
  ].filter(([, p50]) => p50 !== null);
}

/** The bar of the usual time ends at this many times the request's own time: a longer bar would make the request's bar invisible. */
const mostStretched = 4;

/** @param {{ record: any }} props */
export function Waterfall({ record }) {
  const { model, provider, createdAt } = record;
  const isCompared = model !== null && provider !== null;
  const { data } = useData(
    isCompared ? hrefOf('/api/views/typical', new URLSearchParams({ model, provider, at: String(Date.parse(createdAt)) })) : null,
  );
  const { rows, end } = rowsOf(record);
  const bands = bandsOf(data?.typical ?? null, record);
  const begin = comparedFrom(record);
  const whole = Math.max(end, ...bands.map(([, , p95]) => Math.min(begin + p95, mostStretched * end)));
  const share = (ms) => `${(100 * Math.min(ms, whole)) / whole}%`;
  const bar = (kind, from, to) =>
    html`<i
      key=${kind}
      class="bar-${kind}"
      style=${`left:${share(from)};width:max(2px,${share(Math.min(to, whole) - Math.min(from, whole))})`}
    />`;
  return html`<section class="waterfall" aria-label="Timing">
    <ol>${rows.map(
      ({ name, note, parts, tone, text }) => html`<li key=${name + note} class=${tone && `is-${tone}`}>
        <span class="waterfall-name" title=${name}>${name}</span>
        <span class="waterfall-track" aria-hidden="true">
          ${bands.map(([kind, p50, p95]) => bar(`usual-${kind}`, begin + p50, begin + p95))}
          ${parts.map(({ kind, from, to }) => bar(kind, from, to))}
        </span>
        <span class="waterfall-time">${text}</span>
        <span class="waterfall-note" title=${note}>${note}</span>
      </li>`,
    )}</ol>
    ${
      isCompared &&
      html`<p class="waterfall-usual soft">${data === null ? ' ' : html`<${Usual} record=${record} data=${data} bands=${bands} />`}</p>`
    }
  </section>`;
}

const names = { first: 'first token', whole: 'whole answer' };

const wordsOf = ([kind, low, high], at) =>
  html`${at > 0 && '; '}
    <span key=${kind} class="usual-mark bar-usual-${kind}" aria-hidden="true" /> ${names[kind]} ${duration(low)} to ${duration(high)}`;

/** The bands in words, with the place of this request among the others. */
function Usual({ record, data: { typical, hours }, bands }) {
  const { model, provider, durationMs, attempts } = record;
  const of = `${model} at ${provider}`;
  const before = hours === 1 ? 'hour' : hours === 24 ? 'day' : `${hours} hours`;
  if (typical === null) return `The typical times of ${of} are not known: too few requests of the ${before} before asked it first.`;
  const { latencyP50Ms: p50, latencyP95Ms: p95, requests } = typical;
  const took = durationMs - comparedFrom(record);
  const place =
    took > p95
      ? html`<b class="is-bad">slower than 95 % of them</b>`
      : took > p50
        ? 'slower than half of them'
        : 'faster than half of them';
  const times = took > 2 * p50 ? html`: ${(took / p50).toFixed(1)} × the p50` : '';
  const those = `p50 to p95 of ${count(requests)} requests in the ${before} before`;
  const what = attempts.length > 1 ? 'Its last attempt' : 'This request';
  return html`Typical for ${of}: ${bands.map(wordsOf)} (${those}). ${what} is ${place}${times}.`;
}
