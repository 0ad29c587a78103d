/** The page Models: the catalogue with prices, and what was used of it in the last day. */
import { html, useMemo } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Copy } from '../parts/copy.js';
import { aboutSum } from '../parts/estimate.js';
import { compact, count, duration, money, perMillion, percent, unknown } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { go, withParams } from '../parts/location.js';
import { Head } from '../parts/shell.js';
import { SortHead, sorted } from '../parts/sort.js';
import { Fault, Notice, Skeleton } from '../parts/states.js';

const columns = {
  id: { label: 'Model', of: ({ id }) => id },
  providers: { label: 'Providers', of: ({ providers }) => providers.length, num: false },
  context: { label: 'Context', of: ({ contextLength }) => contextLength || null, num: true },
  in: { label: 'Input /M', of: ({ pricing }) => numberOf(pricing.prompt), num: true },
  cached: { label: 'Cached /M', of: ({ pricing }) => numberOf(pricing.input_cache_read), num: true },
  out: { label: 'Output /M', of: ({ pricing }) => numberOf(pricing.completion), num: true },
  able: { label: 'Can', of: null },
  requests: { label: 'Requests 24 h', of: ({ use }) => use?.requests ?? 0, num: true },
  p95: { label: 'p95', of: ({ use }) => use?.latencyP95Ms ?? null, num: true },
  cost: { label: 'Cost 24 h', of: ({ use }) => numberOf(use?.cost), num: true },
};

const numberOf = (text) => (text === undefined || text === null ? null : Number(text));

/** @param {{ params: URLSearchParams }} props */
export function ModelsPage({ params }) {
  const { data, error, reload } = useData('/api/models', { everyMs: 30_000 });
  const text = params.get('find') ?? '';
  const isAll = params.get('show') === 'all';
  const open = params.get('model');
  const shown = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (model) => words.every((word) => `${model.id} ${model.name} ${model.family} ${model.providers.map(({ providerId }) => providerId).join(' ')}`.toLowerCase().includes(word));
    return sorted((data?.data ?? []).filter((model) => (isAll || model.isOn) && fits(model)), columns, params.get('sort') ?? '-requests');
  }, [data, text, isAll, params.get('sort')]);
  return html`<${Head} title="Models" />
    ${error !== null && html`<${Fault} error=${error} retry=${reload} />`}
    ${data === null && error === null && html`<${Skeleton} rows=${12} />`}
    ${data !== null && html`
      <div class="pickers search-line"><label class="search"><${Icon} name="search" /><span class="hidden">Find a model</span><input type="search" placeholder="Find a model, family or provider" value=${text} onInput=${(event) => go(withParams({ find: event.target.value || null }), { replace: true })} /></label>
        <span class="segments" role="group" aria-label="Which models"><a aria-current=${!isAll ? 'true' : undefined} href=${withParams({ show: null })}>Ready ${count(data.data.filter(({ isOn }) => isOn).length)}</a><a aria-current=${isAll ? 'true' : undefined} href=${withParams({ show: 'all' })}>All ${count(data.data.length)}</a></span></div>
      ${shown.length === 0 ? html`<${Notice} icon="search" title="No model like that">${isAll ? '' : html`<a href=${withParams({ show: 'all' })}>Look among all of the catalogue</a>, those too whose provider is off.`}<//>` : html`
      <div class="table-scroll"><table class="table models"><${SortHead} columns=${columns} params=${params} usual="-requests" />
        <tbody>${shown.map((model) => html`<${Row} key=${model.id} model=${model} isOpen=${open === model.id} off=${data.off} />`)}</tbody></table></div>`}`}`;
}

function Row({ model, isOpen, off }) {
  const { id, name, contextLength, pricing, providers, use, stability, deprecatedAt, isOn } = model;
  return html`<tr class=${isOn ? '' : 'is-faint'}>
      <td title=${id}><a class="cell-name" href=${withParams({ model: isOpen ? null : id })} aria-expanded=${isOpen}>${id}</a> ${name !== id && html`<span class="soft">${name}</span>`} ${stability !== 'stable' && html`<span class="pill">${stability}</span>`} ${deprecatedAt && html`<span class="pill">deprecated ${deprecatedAt.slice(0, 10)}</span>`}</td>
      <td title=${providers.map(({ providerId }) => providerId).join(', ')}>${providers.slice(0, 2).map(({ providerId }) => providerId).join(', ')}${providers.length > 2 ? ` +${providers.length - 2}` : ''}</td>
      <td class="num">${compact(contextLength || null)}</td><td class="num">${perMillion(pricing.prompt)}</td><td class="num">${perMillion(pricing.input_cache_read)}</td><td class="num">${perMillion(pricing.completion)}</td>
      <td><${Abilities} model=${model} /></td>
      <td class="num">${use === null ? unknown : html`<a href=${`/dashboard/logs?model=${encodeURIComponent(id)}`}>${count(use.requests)}</a>`}</td><td class="num">${duration(use?.latencyP95Ms)}</td><td class="num">${use === null ? unknown : aboutSum(money(use.cost), use)}</td>
    </tr>
    ${isOpen && html`<tr class="opened"><td colspan="10"><${Detail} model=${model} off=${off} /></td></tr>`}`;
}

function Abilities({ model: { providers, input } }) {
  const some = (of) => providers.some(of);
  const able = [['reasoning', some(({ reasons }) => reasons)], ['tools', some(({ tools }) => tools)], ['vision', some(({ vision }) => vision)], ['audio', input.includes('audio')]].filter(([, is]) => is);
  return html`<span class="pills">${able.map(([name]) => html`<span class="pill" key=${name}>${name}</span>`)}</span>`;
}

function Detail({ model, off }) {
  const offReason = (providerId) => off.find(({ id }) => id === providerId)?.missing;
  return html`<div class="model-detail">
    <p>${model.description} <${Copy} text=${model.id} what="model id" label="Copy id" /> <a class="button" href=${`/dashboard/playground?model=${encodeURIComponent(model.id)}`}><${Icon} name="playground" />Try it</a></p>
    ${model.aliases.length > 0 && html`<p class="soft">Also called ${model.aliases.join(', ')}</p>`}
    <div class="table-scroll"><table class="table"><thead><tr><th scope="col">Provider</th><th scope="col">Its name there</th><th scope="col" class="num">Input /M</th><th scope="col" class="num">Cached /M</th><th scope="col" class="num">Output /M</th><th scope="col">Reasoning</th><th scope="col">State</th></tr></thead>
      <tbody>${model.providers.map((one) => html`<tr key=${one.providerId + one.externalId}><td title=${one.providerId}>${one.providerId}</td><td class="wrap"><code>${one.externalId}</code></td><td class="num">${perMillion(one.pricing.prompt)}</td><td class="num">${perMillion(one.pricing.input_cache_read)}</td><td class="num">${perMillion(one.pricing.completion)}</td>
        <td>${one.reasons ? (one.efforts === null ? 'any effort' : one.efforts.join(', ')) + (one.budget ? ', budget' : '') : unknown}</td><td>${offReason(one.providerId) ? html`<span class="soft">off: ${offReason(one.providerId)} is not set</span>` : 'on'}</td></tr>`)}</tbody></table></div>
    ${model.use !== null && html`<p class="soft">Last 24 h: ${count(model.use.requests)} requests, ${percent(model.use.errors, model.use.requests)} errors, ${aboutSum(compact(model.use.promptTokens), model.use)} tokens in, ${aboutSum(compact(model.use.completionTokens), model.use)} out, first token ${duration(model.use.timeToFirstTokenP50Ms)}</p>`}
  </div>`;
}
