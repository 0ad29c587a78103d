/** The mark for how a request ended: an icon and a word, so that nobody needs to see the colour. */
import { html } from './html.js';
import { Icon } from './icons.js';

const outcomes = {
  answered: ['check', 'ok', 'answered'],
  cut: ['cross', 'bad', 'cut off'],
  failed: ['cross', 'bad', 'failed'],
  refused: ['cross', 'warn', 'refused'],
  gone: ['alert', 'warn', 'client left'],
  interrupted: ['cross', 'bad', 'interrupted'],
};

/** @param {{ record: { status: number, outcome: string, error: { code: string, message: string } | null }, isLong?: boolean }} props */
export function StatusMark({ record: { status, outcome, error }, isLong = false }) {
  const [icon, tone, word] = outcomes[/** @type {keyof typeof outcomes} */ (outcome)] ?? ['alert', 'warn', outcome];
  return html`<span class="mark mark-${tone}" title=${error === null ? word : `${word}: ${error.code}: ${error.message}`}>
    <${Icon} name=${icon} />
    <span>${status === 0 ? '—' : status}</span>
    <span class=${isLong ? '' : 'hidden'}>${word}</span>
  </span>`;
}
