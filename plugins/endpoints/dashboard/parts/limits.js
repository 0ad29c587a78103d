/** Limits and budgets with a bar each, the fullest first. */
import { html } from './html.js';
import { useData } from './api.js';
import { count, dayOf, money, percent, plural } from './format.js';
import { timeNow } from './time-now.js';

const mostShown = 50;
const words = { requests_per_minute: 'requests a minute', tokens_per_minute: 'tokens a minute', concurrent: 'requests at one time' };

const keyOf = ({ by, value, limit, per }) => `${by} ${value} ${limit} ${per}`;

/** Empty where the config has no limits, or no route/limits. */
export function Limits() {
  const { data } = useData('/api/limits', { everyMs: 5000 });
  if (data === null || data.total === 0) return null;
  const shown = data.data.slice(0, mostShown);
  const refused = Object.values(data.refusals).reduce((sum, times) => sum + times, 0);
  const order = shown.length < data.total ? `The fullest ${shown.length} of ${count(data.total)}.` : 'The fullest first.';
  return html`<h2 class="section">Limits and budgets</h2>
    <p class="soft">${order}${refused > 0 && ` ${plural(refused, 'request was', 'requests were')} refused since the start.`}</p>
    <div class="table-scroll"><table class="table">
      <thead><tr>
        <th scope="col">By</th><th scope="col">Value</th><th scope="col">Limit</th><th scope="col" class="num">Used</th>
        <th scope="col" class="num">Allowed</th><th scope="col"><span class="hidden">Bar</span></th>
        <th scope="col" class="num">Full</th><th scope="col">At this pace</th><th scope="col">Begins anew</th>
      </tr></thead>
      <tbody>${shown.map((limit) => html`<${Row} key=${keyOf(limit)} limit=${limit} />`)}</tbody>
    </table></div>`;
}

const day = 86_400_000;

/** When the period of a budget began; null: it has no period. */
function beganAt(per, beginsAnewAt) {
  if (beginsAnewAt === null || per === null) return null;
  const end = new Date(beginsAnewAt);
  return per === 'month' ? Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1) : end.getTime() - (per === 'week' ? 7 : 1) * day;
}

/**
 * Whether a budget lasts to the end of its period at the present pace; empty where that is not known.
 * @param {any} limit @param {number} now
 */
export function paceWords({ per, allowed, used, beginsAnewAt }, now) {
  const began = beganAt(per, beginsAnewAt);
  if (began === null || !(Number(used) > 0)) return '';
  if (Number(used) >= Number(allowed)) return 'used up';
  const lastsTo = now + ((Number(allowed) - Number(used)) * (now - began)) / Number(used);
  if (lastsTo >= Date.parse(beginsAnewAt)) return 'lasts';
  return lastsTo - now < day ? 'used up within a day' : `used up on ${dayOf(lastsTo)}`;
}

function Row({ limit: { by, value, limit, per, allowed, used, share, beginsAnewAt } }) {
  const written = (amount) => (per === null ? count(amount) : money(amount));
  const pace = paceWords({ per, allowed, used, beginsAnewAt }, timeNow());
  const full = share === null ? '' : percent(share, 1);
  return html`<tr>
    <td>${by}</td><td class="cell-name" title=${value}>${value}</td>
    <td>${per === null ? words[limit] : `budget per ${per}`}</td>
    <td class="num">${used === null ? html`<span class="soft">not known</span>` : written(used)}</td>
    <td class="num">${written(allowed)}</td>
    <td class="cell-bar">
      <i class=${share >= 0.9 ? 'is-full' : share >= 0.75 ? 'is-near' : ''} style=${`width:${Math.min(1, share ?? 0) * 100}%`} />
    </td>
    <td class="num ${share !== null && share >= 0.9 ? 'is-bad' : ''}">${full}</td>
    <td class=${pace.startsWith('used') ? 'is-bad' : ''}>${pace}</td>
    <td>${beginsAnewAt === null ? '' : html`<time datetime=${beginsAnewAt}>${beginsAnewAt.slice(0, 16).replace('T', ' ')}</time> UTC`}</td>
  </tr>`;
}
