/** Everything that the log has about one request. */
import { html } from './html.js';
import { useData } from './api.js';
import { Conversation } from './conversation.js';
import { runWhenOpened } from './compare-run.js';
import { Copy } from './copy.js';
import { CostLines, isUnanswered } from './cost-lines.js';
import { about, costMark } from './estimate.js';
import { count, duration, exact, money, speed, unknown } from './format.js';
import { Icon } from './icons.js';
import { Json } from './json.js';
import { Later } from './later.js';
import { withParams } from './location.js';
import { usePrinting } from './printing.js';
import { RequestFacts } from './request-facts.js';
import { chatOf, curlOf } from './snippets.js';
import { Fault, Notice, Skeleton } from './states.js';
import { StatusMark } from './status-mark.js';
import { Prose } from './text.js';
import { Waterfall } from './waterfall.js';

/** Its process died: the record has no time and no body of it. */
const isInterrupted = ({ outcome }) => outcome === 'interrupted';

/** @param {{ id: string, params: URLSearchParams }} props */
export function RequestDetail({ id, params }) {
  const { data, error, reload } = useData(`/api/views/request/${encodeURIComponent(id)}`);
  if (error !== null && error.status === 404) {
    const again = html`<button type="button" class="link" onClick=${reload}>Look again</button>`;
    return html`<div class="detail"><${Notice} title="This request is not on record">
      It may be older than what is kept, or its record is still on the way to the store. ${again}
    <//></div>`;
  }
  if (error !== null) return html`<div class="detail"><${Fault} error=${error} retry=${reload} /></div>`;
  if (data === null || data.record.id !== id) return html`<div class="detail"><${Skeleton} rows=${8} /></div>`;
  const { record } = data;
  return html`<article class="detail">
    <${Title} record=${record} asked=${data.asked} />
    <${Figures} record=${record} />
    ${
      record.error !== null &&
      html`<${Notice} tone="bad" title=${record.error.code}>
        ${record.error.message}${record.error.plugin ? ` (plugin ${record.error.plugin})` : ''}
      <//>`
    }
    ${!isInterrupted(record) && html`<${Waterfall} record=${record} />`}
    <${Tabs} data=${data} params=${params} />
  </article>`;
}

function Title({ record, asked }) {
  const { id, model, requestedModel, provider, createdAt, request, path, metadata } = record;
  return html`<header class="detail-head">
    <h2>
      <${StatusMark} record=${record} isLong=${true} /> <span>${model ?? requestedModel ?? unknown}</span>
      ${provider !== null && html`<span class="route-to"><span class="arrow" aria-label="at">→</span>${provider}</span>`}
    </h2>
    <p class="soft">
      <time datetime=${createdAt} title=${createdAt}>${exact(createdAt)}</time> · <code>${id}</code>
      ${path !== '' && html` · <code title="The endpoint of the request">${path}</code>`}
    </p>
    <div class="detail-tools">
      <${Copy} text=${id} what="id" label="Id" />
      <${Copy} text=${() => `${location.origin}/dashboard/logs/${id}`} what="link" label="Link" />
      ${
        request !== null &&
        html`<${Copy}
          text=${() => (asked === null ? curlOf(chatOf(request), metadata) : curlOf(asked, metadata, path))}
          what="curl"
          label="curl"
        />`
      }
      <${Copy} text=${() => JSON.stringify(record, null, 2)} what="JSON" label="JSON" />
      ${
        request !== null &&
        html`<a class="button" href=${`/dashboard/playground?replay=${id}`}>
            <${Icon} name="replay" />
            <span class="button-text">Replay</span>
          </a>
          <a
            class="button"
            title="Send this request now to its model and to the two other models that are used most"
            href=${`/dashboard/playground?replay=${id}&compare=yes`}
            onClick=${(event) => runWhenOpened(id, event)}
          >
            <${Icon} name="columns" />
            <span class="button-text">Compare</span>
          </a>
          <a class="button" title="The conversation of this request" href=${`/dashboard/conversations?of=${id}`}>
            <${Icon} name="conversations" />
            <span class="button-text">All turns</span>
          </a>`
      }
    </div>
  </header>`;
}

function Figures({ record }) {
  const { durationMs, timeToFirstTokenMs, tokensPerSecond, usage, usageEstimated, cost, attempts } = record;
  const figures = [
    isInterrupted(record) ? ['Total', '–', 'nobody knows how long it took'] : ['Total', duration(durationMs), `${count(durationMs)} ms`],
    [
      'First token',
      duration(timeToFirstTokenMs),
      timeToFirstTokenMs === null ? 'not streamed, or nothing came' : `${count(timeToFirstTokenMs)} ms`,
    ],
    ['Tokens/s', about(speed(tokensPerSecond), usageEstimated), undefined],
    ['Tokens', about(count(usage.totalTokens), usageEstimated), undefined],
    [
      'Cost',
      costMark(money(cost), record),
      isUnanswered(record) ? undefined : cost === null ? 'no price in the catalogue, or a token count is missing' : `$${cost}`,
    ],
    ['Attempts', count(attempts.length), undefined],
  ];
  return html`<dl class="figures">${figures.map(
    ([name, value, title]) => html`<div key=${name} title=${title}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

const asSent = () => import('./as-sent.js').then((part) => part.AsSent);

function Tabs({ data, params }) {
  const {
    usage: { reasoningTokens },
    usageEstimated,
    reasoningEstimated,
  } = data.record;
  const isPrinting = usePrinting();
  const tabs = [
    ['conversation', 'Conversation', null],
    ['reasoning', 'Reasoning', reasoningTokens],
    ['facts', 'Details', null],
    ['cost', 'Tokens and cost', null],
    ['request', 'Request', null],
    ['sent', 'As sent', null],
    ['response', 'Response', null],
    ['raw', 'Raw', null],
  ];
  const open = tabs.some(([name]) => name === params.get('tab')) ? params.get('tab') : 'conversation';
  // a printed request shows the first four tabs, and the open tab if it is another one
  if (isPrinting) {
    return tabs
      .filter(([name], at) => at < 4 || name === open)
      .map(
        ([name, label]) =>
          html`<section key=${name}>
            <h2 class="tab-title">${label}</h2>
            <div class="tab"><${Tab} name=${name} data=${data} /></div>
          </section>`,
      );
  }
  const figure = (many) => html` <span class="tab-count">${about(count(many), usageEstimated || reasoningEstimated)}</span>`;
  return html`<nav class="tabs" aria-label="Parts of the request">${tabs.map(
    ([name, label, many]) => html`<a
      key=${name}
      href=${withParams({ tab: name === 'conversation' ? null : name })}
      aria-current=${open === name ? 'true' : undefined}
    >${label}${many !== null && many !== undefined && figure(many)}</a>`,
  )}</nav>
    <div class="tab"><${Tab} name=${open} data=${data} /></div>`;
}

function Tab({ name, data }) {
  const { record } = data;
  if (name === 'facts') return html`<${RequestFacts} data=${data} />`;
  if (name === 'cost') return html`<${CostLines} data=${data} />`;
  if (name === 'raw') return html`<${Json} value=${record} what="record" />`;
  if (name === 'sent') return html`<${Later} load=${asSent} data=${data} />`;
  if (name === 'reasoning') return html`<${Reasoning} record=${record} bodies=${data.bodies} />`;
  if (record.request === null && record.response === null) return html`<${NoBodies} record=${record} bodies=${data.bodies} />`;
  if (name === 'request') return html`<${Json} value=${data.asked ?? chatOf(record.request)} what="request" />`;
  if (name === 'response') {
    return record.response === null
      ? html`<${Notice} title="There was no answer">${record.error?.message}<//>`
      : html`<${Json} value=${record.response} what="response" />`;
  }
  return html`<${Conversation} record=${record} />`;
}

function NoBodies({ record, bodies }) {
  if (record.outcome === 'refused' && record.request === null) {
    return html`<${Notice} title="There is no body">The request was refused before its body was accepted.<//>`;
  }
  const turnItOn = 'Set it to true to see prompts and answers of later requests.';
  const why =
    bodies === false
      ? html`The config says <code>bodies: false</code> for <code>log/journal</code>. ${turnItOn}`
      : isInterrupted(record)
        ? 'They are stored when a request ends, and the process of the gateway ended before.'
        : html`The request (<code>x-log-bodies: off</code>) or its key asked for that, or the log had no room for the bodies.`;
  return html`<${Notice} title="Bodies are not stored">
    ${why} Without its body a request cannot be sent again.
  <//>`;
}

function Reasoning({ record: { reasoningContent, usage, usageEstimated, reasoningEstimated, request }, bodies }) {
  if (reasoningContent) {
    const tokens = html`${about(count(usage.reasoningTokens), usageEstimated || reasoningEstimated)} tokens`;
    return html`<div class="prose-head">
        <span class="soft">${usage.reasoningTokens === null ? 'The provider did not count the reasoning tokens' : tokens}</span>
        <${Copy} text=${reasoningContent} what="reasoning" label="Copy" />
      </div>
      <${Prose} text=${reasoningContent} more="reasoning" />`;
  }
  if (request === null && (bodies === false || usage.reasoningTokens > 0)) {
    return html`<${NoBodies} record=${{ outcome: '' }} bodies=${bodies} />`;
  }
  if (!(usage.reasoningTokens > 0)) return html`<${Notice} icon="more" title="No reasoning">The answer came without any.<//>`;
  return html`<${Notice} icon="more" title="The provider did not send its reasoning">
    The provider counted ${count(usage.reasoningTokens)} reasoning tokens and sent no text.
  <//>`;
}
