/** Where the time of a request went: the gateway's own work, each attempt, and the pauses between attempts. */
import { html } from './html.js';
import { duration } from './format.js';

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
  const own = starts[0] ?? durationMs;
  const rows = attempts.flatMap((attempt, at) => {
    const before = ends[at - 1] ?? own;
    return starts[at] - before < shortest ? [rowOf(attempt, at, starts[at])] : [pause(before, starts[at], at), rowOf(attempt, at, starts[at])];
  });
  return { rows: [{ name: 'gateway', note: ownNote(record), parts: [{ kind: 'own', from: 0, to: own }], tone: '', text: duration(own) }, ...rows], whole: Math.max(durationMs, ...ends, 1) };
}

/** The slowest plugin is named if it took a time that can be seen. */
function ownNote({ timings }) {
  const [plugin, ms] = Object.entries(timings ?? {}).reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0]);
  return ms < 1 ? 'key, metadata, routing' : `key, metadata, routing; in ${plugin} ${duration(ms)}`;
}

const pause = (from, to, at) => ({ name: 'waited', note: `before attempt ${at + 1}`, parts: [{ kind: 'gap', from, to }], tone: 'gap', text: duration(to - from) });

function rowOf({ provider, outcome, status, error, durationMs, timeToFirstTokenMs: first }, at, from) {
  const isAnswered = outcome === 'answered';
  const rest = { kind: isAnswered ? 'answer' : 'bad', from: from + (first ?? 0), to: from + durationMs };
  const said = isAnswered ? (first === null ? 'answered whole' : `first token ${duration(first)}, then ${duration(durationMs - first)}`) : `${status ?? ''} ${outcome}`.trim();
  return { name: `${at + 1} ${provider}`, note: `${said}${error ? `: ${error}` : ''}`, parts: first === null ? [rest] : [{ kind: 'wait', from, to: from + first }, rest], tone: isAnswered ? '' : 'bad', text: duration(durationMs) };
}

/** @param {{ record: any }} props */
export function Waterfall({ record }) {
  const { rows, whole } = rowsOf(record);
  const share = (ms) => `${(100 * ms) / whole}%`;
  return html`<section class="waterfall" aria-label="Timing">
    <ol>${rows.map(({ name, note, parts, tone, text }) => html`<li key=${name + note} class=${tone && `is-${tone}`}>
      <span class="waterfall-name" title=${name}>${name}</span>
      <span class="waterfall-track" aria-hidden="true">${parts.map(({ kind, from, to }) => html`<i class="bar-${kind}" style=${`left:${share(from)};width:max(2px,${share(to - from)})`} />`)}</span>
      <span class="waterfall-time">${text}</span>
      <span class="waterfall-note" title=${note}>${note}</span>
    </li>`)}</ol>
  </section>`;
}
