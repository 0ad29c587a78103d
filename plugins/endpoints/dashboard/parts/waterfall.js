/** Where the time went: the gateway's own part, and each attempt, one after the other. */
import { html } from './html.js';
import { duration } from './format.js';

/** Attempts end where the request ends; what is before them is the gateway's. */
function rowsOf({ attempts, durationMs }) {
  const asked = attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
  const whole = Math.max(durationMs, asked, 1);
  let at = Math.max(0, whole - asked);
  const own = { name: 'gateway', note: 'key, metadata, routing', parts: [{ kind: 'own', from: 0, to: at }], tone: '', text: duration(at) };
  const rows = attempts.map((attempt, index) => {
    const from = at;
    at += attempt.durationMs;
    const first = attempt.timeToFirstTokenMs;
    const isAnswered = attempt.outcome === 'answered';
    const parts = first === null ? [{ kind: isAnswered ? 'answer' : 'bad', from, to: at }] : [{ kind: 'wait', from, to: from + first }, { kind: isAnswered ? 'answer' : 'bad', from: from + first, to: at }];
    const said = isAnswered ? (first === null ? 'answered whole' : `first token ${duration(first)}, then ${duration(attempt.durationMs - first)}`) : `${attempt.status ?? ''} ${attempt.outcome}`.trim();
    return { name: `${index + 1} ${attempt.provider}`, note: `${said}${attempt.error ? `: ${attempt.error}` : ''}`, parts, tone: isAnswered ? '' : 'bad', text: duration(attempt.durationMs) };
  });
  return { rows: [own, ...rows], whole };
}

/** @param {{ record: any }} props */
export function Waterfall({ record }) {
  const { rows, whole } = rowsOf(record);
  const share = (ms) => `${(100 * ms) / whole}%`;
  return html`<section class="waterfall" aria-label="Timing">
    <ol>${rows.map(({ name, note, parts, tone, text }) => html`<li key=${name} class=${tone === 'bad' ? 'is-bad' : ''}>
      <span class="waterfall-name" title=${name}>${name}</span>
      <span class="waterfall-track" aria-hidden="true">${parts.map(({ kind, from, to }) => html`<i class="bar-${kind}" style=${`left:${share(from)};width:max(2px,${share(to - from)})`} />`)}</span>
      <span class="waterfall-time">${text}</span>
      <span class="waterfall-note" title=${note}>${note}</span>
    </li>`)}</ol>
  </section>`;
}
