/** Some models side by side: what they cost, what they can do, and how they did in the last day. */
import { html } from './html.js';
import { aboutSum } from './estimate.js';
import { compact, costPerRequest, count, duration, failsMuch, money, numberOf, perMillion, percent, speed, unknown } from './format.js';
import { Icon } from './icons.js';
import { hrefOf, withParams } from './location.js';

/** The most models that fit beside each other. */
export const mostCompared = 4;
/** The most models that the playground asks at once. */
const mostAsked = 3;

const some = (of) => (model) => (model.providers.some(of) ? 'yes' : unknown);
const costOf = ({ use }) => (use === null ? null : costPerRequest(use));

/**
 * `of` reads the number that decides which model is best: the lowest, or with `isMost` the highest.
 * @type {(readonly [label: string, show: (model: any) => any, of?: (model: any) => number | null, isMost?: boolean])[]}
 */
const rows = [
  ['Context', ({ contextLength }) => compact(contextLength || null), ({ contextLength }) => contextLength || null, true],
  ['Longest answer', ({ maxOutputTokens }) => compact(maxOutputTokens), ({ maxOutputTokens }) => maxOutputTokens, true],
  ['Input /M', ({ pricing }) => perMillion(pricing.prompt), ({ pricing }) => numberOf(pricing.prompt)],
  ['Cached /M', ({ pricing }) => perMillion(pricing.input_cache_read), ({ pricing }) => numberOf(pricing.input_cache_read)],
  ['Output /M', ({ pricing }) => perMillion(pricing.completion), ({ pricing }) => numberOf(pricing.completion)],
  ['Reasoning', ({ providers }) => effortsOf(providers)],
  ['Tools', some(({ tools }) => tools)],
  ['Vision', some(({ vision }) => vision)],
  ['Audio', ({ input }) => (input.includes('audio') ? 'yes' : unknown)],
  ['Structured output', ({ structuredOutputs }) => (structuredOutputs ? 'yes' : unknown)],
  ['State', ({ stability, deprecatedAt }) => `${stability}${deprecatedAt ? `, deprecated ${deprecatedAt.slice(0, 10)}` : ''}`],
  [
    'Requests 24 h',
    ({ id, use }) =>
      use === null ? unknown : html`<a href=${hrefOf('/dashboard/logs', new URLSearchParams({ model: id }))}>${count(use.requests)}</a>`,
  ],
  [
    'Errors',
    ({ use }) => (use === null ? unknown : percent(use.errors, use.requests)),
    ({ use }) => (use === null ? null : use.errors / use.requests),
  ],
  ['p50', ({ use }) => duration(use?.latencyP50Ms), ({ use }) => use?.latencyP50Ms ?? null],
  ['p95', ({ use }) => duration(use?.latencyP95Ms), ({ use }) => use?.latencyP95Ms ?? null],
  ['First token p50', ({ use }) => duration(use?.timeToFirstTokenP50Ms), ({ use }) => use?.timeToFirstTokenP50Ms ?? null],
  ['Tokens/s', ({ use }) => speed(use?.tokensPerSecond), ({ use }) => use?.tokensPerSecond ?? null, true],
  ['Cost per request', (model) => (model.use === null ? unknown : aboutSum(money(costOf(model)), model.use)), costOf],
];

function effortsOf(providers) {
  const reasoning = providers.filter(({ reasons }) => reasons);
  if (reasoning.length === 0) return unknown;
  if (reasoning.some(({ efforts }) => efforts === null)) return 'any effort';
  return [...new Set(reasoning.flatMap(({ efforts }) => efforts))].join(', ');
}

/** The places of the best ones; none where all are the same, or only one is known. */
function bestOf(models, [, , of, isMost = false]) {
  const values = of === undefined ? [] : models.map(of);
  const known = values.filter((value) => value !== null);
  const best = isMost ? Math.max(...known) : Math.min(...known);
  if (known.length < 2 || known.every((value) => value === best)) return new Set();
  return new Set(values.flatMap((value, at) => (value === best ? [at] : [])));
}

/** @param {{ models: any[], chosen: string[], offReason: (provider: string) => string | undefined }} props */
export function ModelCompare({ models, chosen, offReason }) {
  const without = (id) => chosen.filter((one) => one !== id);
  const allModels = html`<a class="button" href=${withParams({ view: null })}><${Icon} name="left" />All models</a>`;
  return html`<p class="compare-head">
      ${allModels} ${models.length > 1 && html`<${AskAll} models=${models} />`}
    </p>
    <div class="table-scroll"><table class="table compare">
      <thead><tr>
        <th scope="col"><span class="hidden">What</span></th>
        ${models.map(
          ({ id, name }) => html`<th scope="col" key=${id}>
            <b title=${id}>${id}</b> <a
              href=${withParams({ compare: without(id).join(',') || null, ...(without(id).length < 2 && { view: null }) })}
              aria-label=${`Leave ${id} out`}
              title="Leave out"
            ><${Icon} name="close" /></a>
            ${name !== id && html`<div class="soft">${name}</div>`}
          </th>`,
        )}
      </tr></thead>
      <tbody>
        ${rows
          .filter(([, show]) => models.some((model) => show(model) !== unknown))
          .map((row) => {
            const [label, show] = row;
            const best = bestOf(models, row);
            return html`<tr key=${label}>
              <th scope="row">${label}</th>
              ${models.map(
                (model, at) => html`<td key=${model.id} class=${best.has(at) ? 'is-best' : ''}>
                  ${show(model)}
                  ${best.has(at) && html`<span class="best-mark">best</span>`}
                </td>`,
              )}
            </tr>`;
          })}
        <tr>
          <th scope="row">Providers</th>
          ${models.map(
            ({ id, providers }) => html`<td key=${id} class="wrap">
              <${Providers} model=${id} providers=${providers} offReason=${offReason} />
            </td>`,
          )}
        </tr>
      </tbody>
    </table></div>`;
}

/** Each provider with what it answered in the last day. */
const Providers = ({ model, providers, offReason }) =>
  html`<ul class="compare-providers">${providers.map(
    ({ providerId, externalId, tried }) => html`<li key=${providerId + externalId}>
      <b>${providerId}</b> <${TriedInWords} model=${model} provider=${providerId} tried=${tried} missing=${offReason(providerId)} />
    </li>`,
  )}</ul>`;

/** @param {{ model: string, provider: string, tried: any, missing: string | undefined }} props */
export function TriedInWords({ model, provider, tried, missing }) {
  if (missing) return html`<span class="soft">off: ${missing} is not set</span>`;
  if (tried === null) return html`<span class="soft">not asked</span>`;
  const href = hrefOf('/dashboard/logs', new URLSearchParams({ model, tried: provider }));
  const words = tried.errors === 0 ? 'none failed' : `${percent(tried.errors, tried.requests)} failed`;
  const failed = failsMuch(tried) ? html`<span class="is-bad">${words}</span>` : words;
  const times = `p50 ${duration(tried.latencyP50Ms)}, p95 ${duration(tried.latencyP95Ms)}`;
  return html`<a href=${href}>${count(tried.requests)} asked</a>, ${failed}, ${times}`;
}

/** Opens the playground with the first of the models. */
function AskAll({ models }) {
  const asked = models.slice(0, mostAsked).map(({ id }) => id);
  const open = async () => {
    const { href } = location;
    const [{ linkOf }, { emptyForm }] = await Promise.all([import('./playground-link.js'), import('./playground-request.js')]);
    const link = await linkOf({ ...emptyForm, models: asked });
    // the reader may have gone elsewhere while the parts were loading
    if (location.href === href) location.assign(link);
  };
  return html`<button type="button" class="button" onClick=${open} title="Send one request to these models, side by side">
    <${Icon} name="playground" />Compare ${asked.length === models.length ? 'all' : `the first ${asked.length}`} in the playground
  </button>`;
}
