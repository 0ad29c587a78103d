/** The columns that the log can show. */
import { html } from './html.js';
import { about, costMark } from './estimate.js';
import { count, duration, exact, moment, money, speed, unknown } from './format.js';
import { fields } from './fields.js';
import { Icon } from './icons.js';
import { filtersOf, isKeyed, keyOf } from './query.js';
import { StatusMark } from './status-mark.js';
import { read } from './storage.js';

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {boolean} [num]
 * @property {(record: any) => any} show
 * @property {(record: any) => { field: string, value: string } | null} [filter] what a click on the cell filters by
 * @property {(record: any) => string | undefined} [title]
 */

/** The value of a field, by its path in the record; null: it has none. */
const valueOf = (record, { path, unknownAt }) =>
  record.outcome === unknownAt ? null : (path.split('.').reduce((found, step) => found?.[step], record) ?? null);

const formats = {
  id: (id) => html`<code>${id}</code>`,
  time: moment,
  flag: (value) => (value ? 'yes' : 'no'),
  number: count,
  rate: speed,
  milliseconds: duration,
  dollars: money,
};
const numbers = ['number', 'rate', 'milliseconds', 'dollars'];

/** A click on a cell filters by its value, if the field has a filter by values. @returns {Column['filter']} */
const filterOf = (field) =>
  ['value', 'flag', 'count'].includes(field.asks)
    ? (record) => ({ field: field.filter, value: String(valueOf(record, field) ?? '') })
    : undefined;

const titles = {
  text: (value) => value ?? undefined,
  milliseconds: (value) => (value === null ? undefined : `${count(value)} ms`),
  time: exact,
};

/** A column as the table of fields describes it. @returns {Column} */
function plainColumn(field) {
  const { label, path, kind, isCounted } = field;
  const format = formats[kind] ?? ((value) => value ?? unknown);
  const title = titles[kind];
  const show = (record) => format(valueOf(record, field));
  return {
    label,
    num: numbers.includes(kind),
    show: isCounted
      ? (record) => about(show(record), record.usageEstimated || (path === 'usage.reasoningTokens' && record.reasoningEstimated))
      : show,
    filter: filterOf(field),
    title: title && ((record) => title(valueOf(record, field))),
  };
}

function Route({ record: { model, requestedModel, provider, attempts } }) {
  const name = model ?? requestedModel ?? unknown;
  return html`<span class="route">
    <b>${name}</b>
    ${provider !== null && html`<span class="route-to"><span class="arrow" aria-label="at">→</span>${provider}</span>`}
    ${
      attempts?.length > 1 &&
      html`<span class="retried" title=${`${attempts.length} attempts`}>
        <${Icon} name="retry" label=${`${attempts.length} attempts`} />
      </span>`
    }
  </span>`;
}

/** Where a column shows more than its field. @type {Record<string, Partial<Column>>} */
const special = {
  status: {
    show: (record) => html`<${StatusMark} record=${record} />`,
    filter: ({ status, outcome }) => (status === 200 ? { field: 'outcome', value: outcome } : { field: 'status', value: String(status) }),
  },
  model: { label: 'Model → provider', show: (record) => html`<${Route} record=${record} />`, title: undefined },
  in: { title: ({ usage }) => (usage.cachedTokens ? `${count(usage.cachedTokens)} tokens came from the cache` : undefined) },
  cost: {
    show: (record) => costMark(money(record.cost), record),
    title: ({ cost, model }) =>
      cost === null ? (model === null ? 'nothing was served' : 'no price in the catalogue, or a token count is missing') : `$${cost}`,
  },
  error: { title: ({ error }) => error?.message },
};

export const defaultColumns = ['time', 'status', 'model', 'key', 'ttft', 'total', 'in', 'out', 'reasoning', 'tokens', 'cost'];

const listed = Object.fromEntries(
  fields.filter(({ listed }) => listed !== undefined).map((field) => [field.listed, { ...plainColumn(field), ...special[field.listed] }]),
);

/** The usual ones first. @type {Record<string, Column>} */
export const columns = { ...Object.fromEntries(defaultColumns.map((name) => [name, listed[name]])), ...listed };

/** A column by its name, `meta.<key>` and `field.<name>` too. @param {string} name @returns {Column | null} */
export function columnOf(name) {
  if (!isKeyed(name)) return Object.hasOwn(columns, name) ? columns[name] : null;
  const key = keyOf(name);
  const part = name.startsWith('meta.') ? 'metadata' : 'fields';
  const of = ({ [part]: values }) => (Object.hasOwn(values, key) ? String(values[key]) : undefined);
  return { label: key, show: (record) => of(record) ?? unknown, filter: (record) => ({ field: name, value: of(record) ?? '' }), title: of };
}

/** Whether a filter selects errors only. */
const isForErrors = ({ field, value, not }) =>
  !not &&
  ((field === 'error' && value !== '') ||
    (field === 'status' && !/^(?:ok|2..)$/.test(value)) ||
    (field === 'outcome' && value !== 'answered') ||
    (field === 'attempt.code' && !['', 'answered', 'outrun'].includes(value)));

/** The usual columns; a list of errors has their codes too. @param {URLSearchParams} params */
const usualColumns = (params) => (filtersOf(params).some(isForErrors) ? defaultColumns.toSpliced(2, 0, 'error') : defaultColumns);

/**
 * The columns of the address, or those chosen in this browser, or the usual ones with the metadata keys seen most, as far as there is room.
 * @param {URLSearchParams} params @param {readonly string[]} keyed names of metadata and of fields of plugins
 */
export function chosenColumns(params, keyed) {
  const asked = (params.get('cols') ?? read('columns') ?? '').split(',').filter((name) => columnOf(name) !== null);
  return asked.length > 0
    ? asked
    : [...usualColumns(params), ...keyed.filter((name) => name.startsWith('meta.')).slice(0, innerWidth < 1600 ? 1 : 2)];
}
