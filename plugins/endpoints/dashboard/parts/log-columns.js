/** The columns that the log can show. */
import { html } from './html.js';
import { about } from './estimate.js';
import { count, duration, exact, moment, money, speed, unknown } from './format.js';
import { Icon } from './icons.js';
import { StatusMark } from './status-mark.js';
import { read } from './storage.js';

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {boolean} [num]
 * @property {(record: any) => any} show
 * @property {(record: any) => { field: string, value: string } | null} [filter] what a click on the cell asks for
 * @property {(record: any) => string | undefined} [title]
 */

/** Of the tokens, and what follows from them. */
const figure = (of, format) => (record) => about(format(of(record)), record.usageEstimated);

const value = (field, of) => (record) => ({ field, value: of(record) ?? '' });

function Route({ record: { model, requestedModel, provider, attempts } }) {
  const name = model ?? requestedModel ?? unknown;
  return html`<span class="route"><b>${name}</b>${provider !== null && html`<span class="route-to"><span class="arrow" aria-label="served by">→</span>${provider}</span>`}${attempts?.length > 1 && html`<span class="retried" title=${`${attempts.length} attempts`}><${Icon} name="retry" label=${`${attempts.length} attempts`} /></span>`}</span>`;
}

/** @type {Record<string, Column>} */
export const columns = {
  time: { label: 'Time', show: ({ createdAt }) => moment(createdAt), title: ({ createdAt }) => exact(createdAt) },
  status: { label: 'Status', show: (record) => html`<${StatusMark} record=${record} />`, filter: ({ status, outcome }) => (status === 200 ? { field: 'outcome', value: outcome } : { field: 'status', value: String(status) }) },
  model: { label: 'Model → provider', show: (record) => html`<${Route} record=${record} />`, filter: value('model', ({ model }) => model) },
  key: { label: 'Key', show: ({ key }) => key ?? unknown, filter: value('key', ({ key }) => key) },
  ttft: { label: 'First token', num: true, show: ({ timeToFirstTokenMs }) => duration(timeToFirstTokenMs), title: ({ timeToFirstTokenMs }) => (timeToFirstTokenMs === null ? undefined : `${count(timeToFirstTokenMs)} ms`) },
  total: { label: 'Total', num: true, show: ({ durationMs }) => duration(durationMs), title: ({ durationMs }) => `${count(durationMs)} ms` },
  in: { label: 'In', num: true, show: figure(({ usage }) => usage.promptTokens, count), title: ({ usage }) => (usage.cachedTokens ? `${count(usage.cachedTokens)} of them cached` : undefined) },
  out: { label: 'Out', num: true, show: figure(({ usage }) => usage.completionTokens, count) },
  reasoning: { label: 'Reasoning', num: true, show: figure(({ usage }) => usage.reasoningTokens, count) },
  cost: { label: 'Cost', num: true, show: figure(({ cost }) => cost, money), title: ({ cost, model }) => (cost === null ? (model === null ? 'nothing was served' : 'no price in the catalogue, or a count is missing') : `$${cost}`) },
  speed: { label: 'Tokens/s', num: true, show: figure(({ tokensPerSecond }) => tokensPerSecond, speed) },
  cached: { label: 'Cached', num: true, show: figure(({ usage }) => usage.cachedTokens, count) },
  requested: { label: 'Asked for', show: ({ requestedModel }) => requestedModel ?? unknown },
  provider: { label: 'Provider', show: ({ provider }) => provider ?? unknown, filter: value('provider', ({ provider }) => provider) },
  finish: { label: 'Finish', show: ({ finishReason }) => finishReason ?? unknown, filter: value('finish', ({ finishReason }) => finishReason) },
  agent: { label: 'User agent', show: ({ userAgent }) => userAgent ?? unknown, filter: value('agent', ({ userAgent }) => userAgent), title: ({ userAgent }) => userAgent ?? undefined },
  stream: { label: 'Stream', show: ({ stream }) => (stream ? 'yes' : 'no'), filter: value('stream', ({ stream }) => String(stream)) },
  attempts: { label: 'Attempts', num: true, show: ({ attempts }) => count(attempts.length) },
  error: { label: 'Error', show: ({ error }) => error?.code ?? unknown, title: ({ error }) => error?.message },
  id: { label: 'Request id', show: ({ id }) => html`<code>${id}</code>` },
};

export const defaultColumns = ['time', 'status', 'model', 'key', 'ttft', 'total', 'in', 'out', 'reasoning', 'cost'];

/** A column by its name, `meta.<key>` too. @param {string} name @returns {Column | null} */
export function columnOf(name) {
  if (!name.startsWith('meta.')) return Object.hasOwn(columns, name) ? columns[name] : null;
  const key = name.slice(5);
  const of = ({ metadata }) => (Object.hasOwn(metadata, key) ? metadata[key] : undefined);
  return { label: key, show: (record) => of(record) ?? unknown, filter: value(name, of), title: of };
}

/** As chosen in the address, else in this browser, else the usual ones with the metadata keys most seen, as far as there is room. @param {URLSearchParams} params @param {readonly string[]} metaKeys */
export function chosenColumns(params, metaKeys) {
  const asked = params.get('cols') ?? read('columns');
  const names = asked === null ? [...defaultColumns, ...metaKeys.slice(0, innerWidth < 1600 ? 1 : 2).map((key) => `meta.${key}`)] : asked.split(',');
  return names.filter((name) => columnOf(name) !== null);
}
