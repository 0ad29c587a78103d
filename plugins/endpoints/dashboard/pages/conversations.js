/** The page Conversations: requests that belong together, and each conversation to read. */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Choice, Message } from '../parts/conversation.js';
import { about, aboutSum, costMark } from '../parts/estimate.js';
import { ago, count, duration, exact, money, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { go, hrefOf, withParams } from '../parts/location.js';
import { apiParams } from '../parts/query.js';
import { timeOf } from '../parts/time-of.js';
import { Select } from '../parts/select.js';
import { Head } from '../parts/shell.js';
import { Notice, Unready } from '../parts/states.js';
import { StatusMark } from '../parts/status-mark.js';
import { read, write } from '../parts/storage.js';
import { MarkdownSwitch } from '../parts/text.js';
import { TimeRange } from '../parts/time-range.js';

const byHistory = 'history';

/** @param {{ params: URLSearchParams }} props */
export const ConversationsPage = ({ params }) =>
  params.has('of') || params.has('value') ? html`<${One} params=${params} />` : html`<${List} params=${params} />`;

/** The key that was chosen last is kept in the browser. @param {any} event */
function choose({ target: { value } }) {
  write('conversations-by', value);
  go(withParams({ by: value }), { replace: true });
}

/** @param {{ params: URLSearchParams }} props */
function List({ params }) {
  const asked = params.get('by') ?? read('conversations-by');
  const { data, error, loading, reload } = useData(`/api/views/conversations?${apiParams(params, asked === null ? {} : { by: asked })}`, {
    everyMs: 30_000,
  });
  // while other conversations are loading, the select shows the new key, and the list is still that of the key before
  const by = (loading ? asked : data?.by) ?? asked ?? byHistory;
  const names = [...new Set([...(data?.metaKeys ?? []).map((key) => `meta.${key}`), by, byHistory])];
  const options = names.map((name) => [name, name === byHistory ? 'message history' : name]);
  return html`<${Head} title="Conversations">
      <label class="head-pick">Grouped by <${Select} aria-label="Grouped by" value=${by} options=${options} onChange=${choose} /></label>
      <${TimeRange} params=${params} />
    <//>
    <${Unready} data=${data} error=${error} reload=${reload} rows=${8} />
    ${
      data !== null &&
      (data.data.length === 0
        ? html`<${Notice} icon="search" title="No conversation in this time"><${WhatIsNeeded} by=${data.by} /><//>`
        : html`<div class=${loading ? 'is-loading' : ''}><${Table} data=${data} params=${params} /></div>`)
    }`;
}

function WhatIsNeeded({ by }) {
  if (by === byHistory) return 'No chat request in this time has a kept text. Choose a longer time, or turn on bodies of log/journal.';
  const header = html`<code>X-Gateway-${by.slice('meta.'.length)}</code>`;
  return html`No request has <code>${by}</code>. A caller sets it by the header ${header}.`;
}

/** The cost of a conversation, marked where its turns hold estimates that matter. */
const costOf = ({ cost, estimated, turns }) => aboutSum(money(cost), { estimated, requests: turns });

function Table({ data: { by, data, isAll, requests }, params }) {
  const newest = `These are the conversations of the newest ${count(requests)} requests of this time`;
  const href = ({ value, of }) => {
    const which = value === null ? { of } : { by, value };
    return hrefOf('/dashboard/conversations', new URLSearchParams([...timeOf(params), ...Object.entries(which)]));
  };
  return html`<div class="table-scroll"><table class="table conversations">
      <thead><tr>
        <th scope="col">Conversation</th><th scope="col" class="num">Turns</th><th scope="col" class="num">Errors</th>
        <th scope="col">Models</th><th scope="col" class="num">Took</th><th scope="col" class="num">Cost</th>
        <th scope="col">Last</th>
      </tr></thead>
      <tbody>${data.map(
        (one) => html`<tr key=${one.of}>
          <td class="cell-name"><a href=${href(one)}>${one.value ?? one.opening ?? one.of}</a></td>
          <td class="num">${count(one.turns)}</td>
          <td class="num ${one.errors > 0 ? 'is-bad' : ''}">${one.errors === 0 ? '' : count(one.errors)}</td>
          <td>${one.models.join(', ')}</td>
          <td class="num">${duration(Date.parse(one.lastAt) - Date.parse(one.firstAt))}</td>
          <td class="num">${costOf(one)}</td>
          <td><time datetime=${one.lastAt} title=${exact(one.lastAt)}>${ago(one.lastAt)}</time></td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${!isAll && html`<p class="soft">${newest}; choose a time that ends earlier to see older ones.</p>`}`;
}

function One({ params }) {
  const asked = new URLSearchParams([...params].filter(([name]) => ['of', 'by', 'value'].includes(name)));
  const { data, error, reload } = useData(`/api/views/conversation?${asked}`);
  const by = params.has('by') ? [['by', params.get('by') ?? '']] : [];
  const back = hrefOf('/dashboard/conversations', new URLSearchParams([...timeOf(params), ...by]));
  return html`<${Head} title=${html`<a href=${back}>Conversations</a> <span class="soft">/</span> ${data?.value ?? 'Conversation'}`}>
      <${MarkdownSwitch} />
      ${
        data?.value &&
        html`<a
          class="button"
          href=${hrefOf('/dashboard/logs', new URLSearchParams([...timeOf(params), [params.get('by') ?? '', data.value]]))}
        ><${Icon} name="logs" />In the log</a>`
      }
    <//>
    <${Unready} data=${data} error=${error} reload=${reload} rows=${8} />
    ${
      data !== null &&
      html`<${Sums} data=${data} />
          ${!data.isAll && html`<p class="soft">The last ${count(data.data.length)} turns. There are more before them.</p>`}
          <ol class="turns">${data.data.map((turn, at) => html`<${Turn} key=${turn.record.id} turn=${turn} number=${at + 1} />`)}</ol>`
    }`;
}

function Sums({ data }) {
  const { turns, errors, models, firstAt, lastAt } = data;
  const figures = [
    ['Turns', count(turns)],
    ['Errors', count(errors)],
    ['Cost', costOf(data)],
    ['Took', duration(Date.parse(lastAt) - Date.parse(firstAt))],
    ['Began', html`<time datetime=${firstAt} title=${exact(firstAt)}>${ago(firstAt)}</time>`],
    ['Models', models.join(', ') || '–'],
  ];
  return html`<dl class="figures turn-sums">${figures.map(
    ([name, value]) => html`<div key=${name}>
      <dt>${name}</dt>
      <dd title=${typeof value === 'string' ? value : undefined}>${value}</dd>
    </div>`,
  )}</dl>`;
}

function Turn({ turn: { record, fresh, response }, number }) {
  const { id, createdAt, model, provider, durationMs, timeToFirstTokenMs, usage, cost, error, outcome } = record;
  const choices = response?.choices ?? [];
  const taken = about(plural(usage.promptTokens, 'token'), record.usageEstimated);
  const given = about(count(usage.completionTokens), record.usageEstimated);
  return html`<li class="turn">
    <ol class="conversation">
      ${
        fresh === null
          ? html`<li><${Notice} title=${`The text of turn ${number} is not kept`} /></li>`
          : fresh.map((message, at) => html`<${Message} key=${at} message=${message} />`)
      }
      ${choices.map((choice, at) => html`<${Choice} key=${`c${at}`} choice=${choice} of=${choices.length} at=${at} />`)}
      ${error !== null && html`<li><${Notice} tone="bad" title=${error.code}>${error.message}<//></li>`}
    </ol>
    <p class="turn-foot">
      <a href=${`/dashboard/logs/${id}`}>Turn ${number}</a>
      ${outcome !== 'answered' && html`<${StatusMark} record=${record} />`}
      <time datetime=${createdAt} title=${createdAt}>${exact(createdAt).replace(/\.\d+/, '')}</time>
      <span>${model ?? '–'}${provider !== null && ` at ${provider}`}</span>
      <span>${duration(durationMs)}${timeToFirstTokenMs !== null && `, first token ${duration(timeToFirstTokenMs)}`}</span>
      ${usage.promptTokens !== null && html`<span>${taken} in, ${given} out</span>`}
      <b>${costMark(money(cost), record)}</b>
    </p>
  </li>`;
}
