/** The rows of the log. A click on a row opens the request; a click on a value filters by it, and with Alt excludes it. */
import { html, useEffect, useMemo, useRef } from './html.js';
import { dayOf } from './format.js';
import { columnOf } from './log-columns.js';
import { OrderHead } from './log-order.js';
import { go, hrefOf, withParams } from './location.js';
import { onlyFilter } from './query.js';
import { timeNow } from './time-now.js';

/**
 * @param {{ records: any[], names: string[], params: URLSearchParams, selected: number, openId: string | null, fresh?: Set<string> }} props
 */
export function LogTable({ records, names, params, selected, openId, fresh }) {
  const shown = useMemo(() => names.map((name) => ({ name, .../** @type {any} */ (columnOf(name)) })), [names.join()]);
  const today = dayOf(timeNow());
  return html`<div class="table-scroll log-scroll"><table class="table log-table">
    <thead><tr>${shown.map(
      ({ name, label, num }) => html`<${OrderHead} key=${name} name=${name} label=${label} num=${num} params=${params} />`,
    )}</tr></thead>
    <tbody>${records.map(
      (record, at) => html`<${Row}
        key=${record.id}
        record=${record}
        shown=${shown}
        today=${today}
        params=${params}
        isSelected=${at === selected}
        isOpen=${record.id === openId}
        isFresh=${fresh?.has(record.id) ?? false}
      />`,
    )}</tbody>
  </table></div>`;
}

/**
 * The properties after whose change a row is drawn again. The record is not one of them,
 * because it never changes; `today` is, because times of other days have another form.
 */
const seen = ['shown', 'today', 'params', 'isSelected', 'isOpen', 'isFresh'];

/** @this {import('preact').Component} */
function Row({ record, shown, params, isSelected, isOpen, isFresh }) {
  // cost: at 200 requests a second, drawing 500 rows again four times a second would block the page
  this.shouldComponentUpdate = (next) => seen.some((name) => next[name] !== this.props[name]);
  const row = useRef(/** @type {HTMLTableRowElement | null} */ (null));
  useEffect(() => {
    if (!isSelected) return;
    row.current?.scrollIntoView({ block: 'nearest' });
    // otherwise Enter would open the focused row and not the marked one
    if (document.activeElement?.matches('.row-link')) row.current?.querySelector('.row-link')?.focus({ preventScroll: true });
  }, [isSelected]);
  const open = withParams({ log: record.id }, params);
  const clicked = (event) => {
    if (event.target.closest('a,button') === null && getSelection()?.isCollapsed !== false) go(open);
  };
  const classes = [isError(record) && 'row-bad', isSelected && 'row-selected', isOpen && 'row-open', isFresh && 'row-fresh']
    .filter(Boolean)
    .join(' ');
  return html`<tr ref=${row} class=${classes} onClick=${clicked}>
    ${shown.map(
      (column, at) => html`<td key=${column.name} class=${column.num ? 'num' : ''} title=${column.title?.(record)}>
        ${
          at === 0
            ? html`<a class="row-link" href=${open}>${column.show(record)}</a>`
            : html`<${Cell} column=${column} record=${record} params=${params} />`
        }
      </td>`,
    )}
  </tr>`;
}

/** As `core/log/outcome.ts` counts errors. */
const isError = ({ outcome, timeToFirstTokenMs }) => outcome !== 'answered' && (outcome !== 'gone' || timeToFirstTokenMs === null);

function Cell({ column, record, params }) {
  const asked = column.filter?.(record) ?? null;
  const content = column.show(record);
  if (asked === null || asked.value === '') return content;
  const filter = (event) => {
    event.stopPropagation();
    go(hrefOf('/dashboard/logs', onlyFilter(params, { ...asked, not: event.altKey })));
  };
  return html`<button
    type="button"
    class="cell-filter"
    title=${`${column.title?.(record) ?? ''}\nClick: only this value. Alt-click: all others.`.trim()}
    onClick=${filter}
    tabindex="-1"
  >${content}</button>`;
}
