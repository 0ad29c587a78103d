/** One tiny request to one provider, by hand: does it answer, and how fast. */
import { html, useState } from './html.js';
import { ask } from './api.js';
import { complete } from './chat-stream.js';
import { duration } from './format.js';
import { Icon } from './icons.js';

const body = { messages: [{ role: 'user', content: 'Say OK' }], max_tokens: 16 };

/** What is free may be rationed: it comes last. */
const priceOf = ({ pricing }) => Number(pricing.completion) || 1;
const isSteady = ({ stability, deprecatedAt, deactivatedAt }) => stability === 'stable' && deprecatedAt === null && deactivatedAt === null;

/** The cheapest of its models, steady ones first, as `provider/model`. */
async function modelOf(provider) {
  const { data } = await ask('/api/models');
  const [model] = data.filter(({ providers }) => providers.some(({ providerId }) => providerId === provider)).sort((a, b) => Number(isSteady(b)) - Number(isSteady(a)) || priceOf(a) - priceOf(b));
  return model === undefined ? null : `${provider}/${model.id}`;
}

/** @typedef {{ isRunning?: boolean, model?: string | null, id?: string | null, ms?: number | null, fault?: any }} Trial */

/** @param {string} provider @returns {[Trial | null, () => Promise<void>]} */
export function useProviderTest(provider) {
  const [trial, setTrial] = useState(/** @type {Trial | null} */ (null));
  const run = async () => {
    setTrial({ isRunning: true });
    /** @type {Trial} */
    const told = {};
    try {
      told.model = await modelOf(provider);
      if (told.model === null) throw Object.assign(new Error('No model of the config is served by it.'), { code: 'no_model' });
      await complete({ model: told.model, ...body }, { headers: { 'x-gateway-source': 'test' }, signal: AbortSignal.timeout(30_000), tell: ({ id, totalMs }) => Object.assign(told, { id, ms: totalMs }) });
    } catch (fault) {
      told.fault = fault;
    }
    setTrial(told);
  };
  return [trial, run];
}

/** What came of it. @param {{ trial: Trial }} props */
export function TrialMark({ trial: { isRunning, model, id, ms, fault } }) {
  if (isRunning) return html`<span class="soft">Asking…</span>`;
  const more = html` <code class="soft">${model}</code>${id && html` <a href=${`/dashboard/logs/${id}`}>See it in the log</a>`}`;
  if (!fault) return html`<span class="mark mark-ok"><${Icon} name="check" />answered in ${duration(ms)}</span>${more}`;
  if (fault.status === 401) return html`<span class="mark mark-warn"><${Icon} name="keys" />callers need a key</span> This page has none. <a href=${`/dashboard/playground?model=${encodeURIComponent(model ?? '')}`}>Test it in the playground with one</a>`;
  return html`<span class="mark mark-bad"><${Icon} name="cross" />${fault.code ?? fault.name}</span> ${fault.message}${more}`;
}
