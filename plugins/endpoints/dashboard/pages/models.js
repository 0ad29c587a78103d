/** The page Models: the catalogue with prices, what was used of it in the last day, and some models side by side. */
import { html, useMemo } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Copy } from '../parts/copy.js';
import { aboutSum } from '../parts/estimate.js';
import { ago, compact, count, duration, money, numberOf, perMillion, percent, plural, unknown } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { go, withParams } from '../parts/location.js';
import { ModelCompare, mostCompared, TriedInWords } from '../parts/model-compare.js';
import { boundNames, offered, searchOf, toggled, wordsIn } from '../parts/model-search.js';
import { isNoneOn, NoneOn } from '../parts/none-on.js';
import { Head } from '../parts/shell.js';
import { SortHead, sorted } from '../parts/sort.js';
import { Notice, Unready } from '../parts/states.js';

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

/** @param {{ params: URLSearchParams }} props */
export function ModelsPage({ params }) {
  const { data, error, reload } = useData('/api/models', { everyMs: 30_000 });
  const chosen = (params.get('compare') ?? '').split(',').filter(Boolean).slice(0, mostCompared);
  const compared = chosen.flatMap((id) => data?.data.filter((model) => model.id === id) ?? []);
  const offReason = (providerId) => data?.off.find(({ id }) => id === providerId)?.missing;
  return html`<${Head} title="Models" />
    <${Unready} data=${data} error=${error} reload=${reload} rows=${12} />
    ${
      data !== null &&
      (params.get('view') === 'compare' && compared.length > 0
        ? html`<${ModelCompare} models=${compared} chosen=${chosen} offReason=${offReason} />`
        : html`<${List} data=${data} params=${params} chosen=${chosen} offReason=${offReason} />`)
    }`;
}

/** @param {string} words */
const find = (words) => withParams({ find: words || null });

function List({ data, params, chosen, offReason }) {
  const text = params.get('find') ?? '';
  const isAll = params.get('show') === 'all';
  const { unknown: notKnown, fits } = useMemo(
    () => searchOf(text, (provider) => isAll || offReason(provider) === undefined),
    [text, isAll, data],
  );
  const order = params.get('sort') ?? '-requests';
  const shown = useMemo(() => {
    const found = data.data.filter((model) => (isAll || model.isOn) && fits(model));
    return sorted(found, columns, order);
  }, [fits, order]);
  const table = html`<div class="table-scroll"><table class="table models">
    <${SortHead} columns=${columns} params=${params} usual="-requests" />
    <tbody>${shown.map(
      (model) => html`<${Row}
        key=${model.id}
        model=${model}
        isOpen=${params.get('model') === model.id}
        chosen=${chosen}
        offReason=${offReason}
      />`,
    )}</tbody>
  </table></div>`;
  return html`<${Finder} text=${text} isAll=${isAll} models=${data.data} />
    ${chosen.length > 0 && html`<${CompareBar} chosen=${chosen} />`}
    ${notKnown.length > 0 ? html`<${NoBound} words=${notKnown} />` : shown.length === 0 ? html`<${NoModel} isAll=${isAll} models=${data} />` : table}`;
}

const ofPrices = 'prices are dollars per million tokens, and "price" is the higher one of the input and the output price.';
const boundsInWords = `Bounds of ${boundNames.join(', ')}; ${ofPrices}`;

/** The line to find models by words and bounds, and the words that are offered for it. */
function Finder({ text, isAll, models }) {
  const wordOf = (word) =>
    html`<a
      key=${word}
      class="pill pill-choice"
      aria-current=${wordsIn(text).includes(word) ? 'true' : undefined}
      href=${find(toggled(text, word))}
    >${word}</a>`;
  return html`<div class="pickers search-line">
      <label class="search">
        <${Icon} name="search" />
        <span class="hidden">Find a model</span>
        <input
          type="search"
          placeholder="A name, family or provider; vision; price<2"
          value=${text}
          onInput=${(event) => go(find(event.target.value), { replace: true })}
        />
      </label>
      <span class="segments" role="group" aria-label="Which models">
        <a aria-current=${!isAll ? 'true' : undefined} href=${withParams({ show: null })}>
          Ready ${count(models.filter(({ isOn }) => isOn).length)}
        </a>
        <a aria-current=${isAll ? 'true' : undefined} href=${withParams({ show: 'all' })}>All ${count(models.length)}</a>
      </span>
    </div>
    <p class="search-words-line" role="group" aria-label="Only models with">
      ${offered.map(wordOf)} <span class="soft" title=${boundsInWords}>all words must hold for one provider; prices per million tokens</span>
    </p>`;
}

function CompareBar({ chosen }) {
  const compare = html`<a class="button button-main" href=${withParams({ view: 'compare' })}>
    <${Icon} name="columns" />Compare ${chosen.length} models
  </a>`;
  return html`<p class="compare-bar">
    <span>${chosen.map((id) => html`<b key=${id}>${id}</b> `)}</span>
    ${chosen.length > 1 ? compare : html`<span class="soft">Choose another one to compare it with</span>`}
    <a class="link" href=${withParams({ compare: null })}>Clear</a>
  </p>`;
}

const NoBound = ({ words }) =>
  html`<${Notice} icon="search" title=${`"${words.join(' ')}" is not a known bound`}>
    Write one of ${boundNames.join(', ')} ${'with < or > and a number: '}
    <code>${'price<2'}</code>, <code>${'context>=1m'}</code>.
  <//>`;

function NoModel({ isAll, models }) {
  if (!isAll && isNoneOn(models)) return html`<${NoneOn} models=${models} />`;
  const more = html`<a href=${withParams({ show: 'all' })}>Search the whole catalogue</a>, including the models whose provider is off.`;
  return html`<${Notice} icon="search" title="No model like that">${isAll ? '' : more}<//>`;
}

function Row({ model, isOpen, chosen, offReason }) {
  const { id, contextLength, pricing, providers, use, isOn } = model;
  const isChosen = chosen.includes(id);
  const choose = () =>
    go(withParams({ compare: (isChosen ? chosen.filter((one) => one !== id) : [...chosen, id]).join(',') || null }), { replace: true });
  const used = use !== null && html`<a href=${`/dashboard/logs?model=${encodeURIComponent(id)}`}>${count(use.requests)}</a>`;
  return html`<tr class=${isOn ? '' : 'is-faint'}>
      <td title=${id}>
        <input
          type="checkbox"
          checked=${isChosen}
          disabled=${!isChosen && chosen.length >= mostCompared}
          onChange=${choose}
          aria-label=${`Compare ${id}`}
          title="Compare"
        /> <${Name} model=${model} isOpen=${isOpen} />
      </td>
      <td title=${providers.map(({ providerId }) => providerId).join(', ')}>
        ${providers
          .slice(0, 2)
          .map(({ providerId }) => providerId)
          .join(', ')}${providers.length > 2 ? ` +${providers.length - 2}` : ''}
      </td>
      <td class="num">${compact(contextLength || null)}</td><td class="num">${perMillion(pricing.prompt)}</td>
      <td class="num">${perMillion(pricing.input_cache_read)}</td><td class="num">${perMillion(pricing.completion)}</td>
      <td><${Abilities} model=${model} /></td>
      <td class="num">${use === null ? unknown : used}</td>
      <td class="num">${duration(use?.latencyP95Ms)}</td>
      <td class="num">${use === null ? unknown : aboutSum(money(use.cost), use)}</td>
    </tr>
    ${isOpen && html`<tr class="opened"><td colspan="10"><${Detail} model=${model} offReason=${offReason} /></td></tr>`}`;
}

function Name({ model: { id, name, stability, deprecatedAt }, isOpen }) {
  return html`<a class="cell-name" href=${withParams({ model: isOpen ? null : id })} aria-expanded=${isOpen}>${id}</a> ${
    name !== id && html`<span class="soft">${name}</span>`
  } ${stability !== 'stable' && html`<span class="pill">${stability}</span>`} ${
    deprecatedAt && html`<span class="pill">deprecated ${deprecatedAt.slice(0, 10)}</span>`
  }`;
}

function Abilities({ model: { providers, input } }) {
  const some = (of) => providers.some(of);
  const able = [
    ['reasoning', some(({ reasons }) => reasons)],
    ['tools', some(({ tools }) => tools)],
    ['vision', some(({ vision }) => vision)],
    ['audio', input.includes('audio')],
  ].filter(([, is]) => is);
  return html`<span class="pills">${able.map(([name]) => html`<span class="pill" key=${name}>${name}</span>`)}</span>`;
}

/** What a provider answered lately, the newest first. Each mark links to its request. */
const Answers = ({ answers }) =>
  html`<span class="answers">${answers.map(({ id, createdAt, outcome, isFault, status, durationMs, error }, at) => {
    const isGood = outcome === 'answered';
    // an attempt that was outrun, or whose client left, says nothing against the provider
    const [tone, icon] = isGood ? ['ok', 'check'] : isFault ? ['bad', 'cross'] : ['off', 'more'];
    const failure = `${status ?? ''} ${outcome}${error === null ? '' : `: ${error}`}`.trim();
    const words = `${isGood ? 'answered' : failure} in ${duration(durationMs)}, ${ago(createdAt)}`;
    return html`<a key=${id + at} class="mark mark-${tone}" href=${`/dashboard/logs/${id}`} title=${words} aria-label=${words}>
      <${Icon} name=${icon} />
    </a>`;
  })}</span>`;

function Detail({ model, offReason }) {
  const { data: lately } = useData(`/api/views/answers?model=${encodeURIComponent(model.id)}`, { everyMs: 30_000 });
  const answersOf = (providerId) => lately?.data.find(({ provider }) => provider === providerId)?.answers ?? [];
  return html`<div class="model-detail">
    <p>${model.description} <${Copy} text=${model.id} what="model id" label="Copy id" /> <${TryIt} id=${model.id} /></p>
    ${model.aliases.length > 0 && html`<p class="soft">Also called ${model.aliases.join(', ')}</p>`}
    <div class="table-scroll"><table class="table">
      <thead><tr>
        <th scope="col">Provider</th><th scope="col">Name at the provider</th><th scope="col" class="num">Input /M</th>
        <th scope="col" class="num">Cached /M</th><th scope="col" class="num">Output /M</th>
        <th scope="col">Reasoning</th><th scope="col">Last 24 h</th><th scope="col">Last answers</th>
      </tr></thead>
      <tbody>${model.providers.map(
        (one) => html`<tr key=${one.providerId + one.externalId}>
          <td title=${one.providerId}>${one.providerId}</td><td class="wrap"><code>${one.externalId}</code></td>
          <td class="num">${perMillion(one.pricing.prompt)}</td>
          <td class="num">${perMillion(one.pricing.input_cache_read)}</td>
          <td class="num">${perMillion(one.pricing.completion)}</td>
          <td>${one.reasons ? reasoningOf(one) : unknown}</td>
          <td class="wrap">
            <${TriedInWords} model=${model.id} provider=${one.providerId} tried=${one.tried} missing=${offReason(one.providerId)} />
          </td>
          <td><${Answers} answers=${answersOf(one.providerId)} /></td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${model.use !== null && html`<p class="soft"><${LastDay} use=${model.use} /></p>`}
  </div>`;
}

const TryIt = ({ id }) =>
  html`<a class="button" href=${`/dashboard/playground?model=${encodeURIComponent(id)}`}><${Icon} name="playground" />Try it</a>`;

const reasoningOf = ({ efforts, budget }) => `${efforts === null ? 'any effort' : efforts.join(', ')}${budget ? ', budget' : ''}`;

function LastDay({ use }) {
  const failed = percent(use.errors, use.requests);
  const [taken, given] = [use.promptTokens, use.completionTokens].map((tokens) => aboutSum(compact(tokens), use));
  const first = duration(use.timeToFirstTokenP50Ms);
  return html`Last 24 h: ${plural(use.requests, 'request')}, ${failed} errors, ${taken} tokens in, ${given} out, first token ${first}`;
}
