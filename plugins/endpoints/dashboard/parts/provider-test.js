/** Sends one small request to one provider, to see whether it answers, and how fast. */
import { html, useState } from './html.js';
import { ask } from './api.js';
import { complete } from './chat-stream.js';
import { duration } from './format.js';
import { Icon } from './icons.js';

const body = { messages: [{ role: 'user', content: 'Say OK' }], max_tokens: 16 };

/** The price for sorting. A free model counts as the dearest, because its provider may limit its use. */
const priceOf = ({ pricing }) => Number(pricing.completion) || 1;
const isSteady = ({ stability, deprecatedAt, deactivatedAt }) => stability === 'stable' && deprecatedAt === null && deactivatedAt === null;

/** The cheapest model of a provider, as `provider/model`; stable models come before all others. Null where it serves none. */
async function modelOf(provider) {
  const { data } = await ask('/api/models');
  const [model] = data
    .filter(({ providers }) => providers.some(({ providerId }) => providerId === provider))
    .sort((a, b) => Number(isSteady(b)) - Number(isSteady(a)) || priceOf(a) - priceOf(b));
  return model === undefined ? null : `${provider}/${model.id}`;
}

/** @typedef {{ isRunning?: boolean, model?: string | null, id?: string | null, ms?: number | null, fault?: any }} Trial */

/** The last test of a provider, and a function that runs a test. @param {string} provider @returns {[Trial | null, () => Promise<void>]} */
export function useProviderTest(provider) {
  const [trial, setTrial] = useState(/** @type {Trial | null} */ (null));
  const run = async () => {
    setTrial({ isRunning: true });
    /** @type {Trial} */
    const result = {};
    try {
      result.model = await modelOf(provider);
      if (result.model === null) throw Object.assign(new Error('No model of the config is served by this provider.'), { code: 'no_model' });
      await complete(
        { model: result.model, ...body },
        {
          headers: { 'x-gateway-source': 'test' },
          signal: AbortSignal.timeout(30_000),
          tell: ({ id, totalMs }) => Object.assign(result, { id, ms: totalMs }),
        },
      );
    } catch (fault) {
      result.fault = fault;
    }
    setTrial(result);
  };
  return [trial, run];
}

/** The result of a test. @param {{ trial: Trial }} props */
export function TrialMark({ trial: { isRunning, model, id, ms, fault } }) {
  if (isRunning) return html`<span class="soft">Asking…</span>`;
  const more = html` <code class="soft">${model}</code>${id && html` <a href=${`/dashboard/logs/${id}`}>See it in the log</a>`}`;
  if (!fault) return html`<span class="mark mark-ok"><${Icon} name="check" />answered in ${duration(ms)}</span>${more}`;
  if (fault.status === 401) {
    const playground = `/dashboard/playground?model=${encodeURIComponent(model ?? '')}`;
    const mark = html`<span class="mark mark-warn"><${Icon} name="keys" />callers need a key</span>`;
    return html`${mark} This page has none. <a href=${playground}>Test the provider in the playground with a key</a>`;
  }
  return html`<span class="mark mark-bad"><${Icon} name="cross" />${fault.code ?? fault.name}</span> ${fault.message}${more}`;
}
