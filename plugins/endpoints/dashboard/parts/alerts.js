/** The alerts that are active, each with its start. */
import { html } from './html.js';
import { ago, exact } from './format.js';
import { Icon } from './icons.js';
import { hrefOf } from './location.js';
import { timeOf } from './time-of.js';

/** The requests that an alert is about. */
const filters = { errors: { status: 'error' }, latency: { sort: 'duration' }, cost: { sort: 'cost' } };

/**
 * The filter for the value that an alert is about: `of` is `meta.team search`, or empty where it is about all.
 * @param {string} of @returns {Record<string, string>}
 */
function filterOf(of) {
  const at = of.indexOf(' ');
  return at === -1 ? {} : { [of.slice(0, at)]: of.slice(at + 1) };
}

/** @param {{ alerts: any, params: URLSearchParams }} props `alerts`: the answer of `/api/alerts`, null where there is none */
export function Alerts({ alerts, params }) {
  if (alerts === null || (alerts.data.length === 0 && alerts.webhook.fault === null)) return null;
  const hrefOfAlert = ({ watches, of }) => {
    const own = filters[/** @type {keyof typeof filters} */ (watches)];
    const wanted = watches === 'provider' ? { tried: of } : { ...filterOf(of), ...own };
    return hrefOf('/dashboard/logs', new URLSearchParams([...timeOf(params), ...Object.entries(wanted)]));
  };
  return html`<section class="card alerts" aria-label="Alerts">
    ${
      alerts.data.length > 0 &&
      html`<ul>${alerts.data.map(
        (alert) => html`<li key=${`${alert.name} ${alert.of}`}>
          <a href=${hrefOfAlert(alert)}>
            <${Icon} name="alert" />
            <b>${alert.name}${alert.of !== '' && html` <span class="pill">${alert.of}</span>`}</b>
            <span class="alert-facts">${alert.facts}</span>
            <span class="alert-since">since <time datetime=${alert.since} title=${exact(alert.since)}>${ago(alert.since)}</time></span>
          </a>
        </li>`,
      )}</ul>`
    }
    ${alerts.webhook.fault !== null && html`<p class="soft">The last alert message did not reach the webhook: ${alerts.webhook.fault}.</p>`}
  </section>`;
}
