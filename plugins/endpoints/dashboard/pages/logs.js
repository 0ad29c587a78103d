/** The page Logs: all requests that match the filters, with a live tail. */
import { html, useEffect, useMemo, useRef, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { ColumnMenu } from '../parts/column-menu.js';
import { aboutSum } from '../parts/estimate.js';
import { ExportMenu } from '../parts/export-menu.js';
import { compact, count, duration, moment, money, percent, plural } from '../parts/format.js';
import { Facets } from '../parts/facets.js';
import { Icon } from '../parts/icons.js';
import { useKeys } from '../parts/keyboard.js';
import { isLit, mostRows, useHeld, useLiveTail } from '../parts/live-tail.js';
import { go, hrefOf, withParams } from '../parts/location.js';
import { chosenColumns } from '../parts/log-columns.js';
import { orderOf, orderParams, withSorted } from '../parts/log-order.js';
import { Later } from '../parts/later.js';
import { LogTable } from '../parts/log-table.js';
import { apiParams, bucketOf, filtersOf, isKeyed, rangeOf, widerSince } from '../parts/query.js';
import { RequestHistogram } from '../parts/request-histogram.js';
import { SearchBar } from '../parts/search-bar.js';
import { Head } from '../parts/shell.js';
import { useShownRange } from '../parts/shown-range.js';
import { Notice, Unready } from '../parts/states.js';
import { styles } from '../parts/styles.js';
import { timeNow } from '../parts/time-now.js';
import { hrefOfRange, rangeLabel, TimeRange } from '../parts/time-range.js';
import { ViewsMenu } from '../parts/views-menu.js';

const pageSize = 100;
const firstRequest = () => import('../parts/first-request.js').then((part) => part.FirstRequest);
const requestPanel = () => Promise.all([import('../parts/request-panel.js'), styles('request')]).then(([part]) => part.RequestPanel);

/** @param {{ params: URLSearchParams }} props */
export function LogsPage({ params }) {
  const wish = wishOf(params);
  const { range, order, cursor, wantsLive, isLive } = wish;
  const { asked, answered, error, loading, reload } = useLogs(params, wish);
  // the tail comes from the gateway's memory, so it goes on while the store is away
  const data = answered ?? (isLive && error !== null ? { data: [], next: null, total: null, facets: {} } : null);
  const [isHeld, setHeld] = useState(false);
  const openId = params.get('log');
  const { tail, records, lit, release } = useRows({
    answered,
    error,
    of: loading || answered === null ? null : asked,
    from: range.from,
    live: isLive ? apiParams(params) : null,
    isHeld: isHeld || openId !== null,
  });
  const selected = useSelection(records, openId, params);
  const keyed = Object.keys(data?.facets ?? {}).filter(isKeyed);
  const names = chosenColumns(params, keyed);
  const shownRange = useShownRange(range, loading);
  // cost: parts that do not depend on the tail are not drawn again when a row comes
  const histogram = useMemo(() => answered?.total && histogramOf(answered, shownRange, params), [answered, params]);
  const facets = useMemo(
    () => html`<${FacetColumn} facets=${data?.facets ?? {}} total=${data?.total} params=${params} />`,
    [answered, params],
  );
  const isEmpty = answered !== null && records.length === 0 && cursor === null && answered.next === null;
  // without rows no pointer can leave them, so the reading state would never end
  useEffect(() => void (isEmpty && setHeld(false)), [isEmpty]);
  useKeys({ l: () => go(liveHref(wantsLive)) });

  const table = { records, names: withSorted(names, order), params, selected, openId, fresh: lit };
  const list = html`<div class="log-body">
    ${facets}
    <div class="log-main" onMouseEnter=${() => setHeld(true)} onMouseLeave=${() => setHeld(false)}>
      <${Waiting} count=${tail.waiting} release=${release} />
      <${LogTable} ...${table} />
      <${Pager} wish=${wish} next=${data?.next} shown=${records.length} loading=${loading} />
    </div>
  </div>`;
  const empty = html`<${Empty} params=${params} wish=${wish} answer=${error ?? answered} refresh=${reload} />`;
  return html`<${LogsHead} params=${params} wish=${wish} names=${names} keyed=${keyed} isConnected=${tail.isConnected} />
    <${SearchBar} params=${params} facets=${data?.facets ?? {}} />
    <${NotTogether} params=${params} wish=${wish} />
    <${Unready} data=${data} error=${error} reload=${reload} rows=${12} />
    ${data !== null && html`<${Sums} data=${data} histogram=${histogram} loading=${loading} mayCome=${!isEmpty && error === null} />`}
    ${data !== null && html`<${Cut} range=${range} days=${data.retentionDays} />`}
    ${data !== null && (isEmpty ? empty : list)}
    ${openId !== null && html`<${Later} load=${requestPanel} id=${openId} params=${params} records=${records} />`}`;
}

/** What the address asks for. */
function wishOf(params) {
  const order = orderOf(params);
  const wantsLive = params.get('live') === '1';
  // records of the tail have no bodies, so a text filter cannot match them
  const isLive = wantsLive && !params.get('q') && order === null;
  return { range: rangeOf(params), order, cursor: params.get('cursor'), wantsLive, isLive };
}

/** The answer of the API for the address. `asked`: the query that was sent. */
function useLogs(params, { range, order, cursor, isLive }) {
  const asked = apiParams(params, {
    limit: String(pageSize),
    bucket: String(bucketOf(range.to - range.from, 90)),
    ...orderParams(order),
    ...(cursor !== null && { cursor }),
  });
  const everyMs = isLive ? 5000 : cursor === null && range.isRelative ? 15_000 : 0;
  const { data: answered, error, loading, reload } = useData(`/api/views/logs?${asked}`, { everyMs });
  return { asked, answered, error, loading, reload };
}

function LogsHead({ params, wish: { wantsLive, isLive }, names, keyed, isConnected }) {
  const rows = apiParams(params);
  const files = [
    [`/api/logs/export?format=csv&${rows}`, 'CSV', 'one row per request, metadata as columns'],
    [`/api/logs/export?format=jsonl&${rows}`, 'JSON Lines', 'whole records, with bodies'],
  ];
  return html`<${Head} title="Logs">
    <${LiveSwitch} isLive=${isLive} wantsLive=${wantsLive} isConnected=${isConnected} />
    <${TimeRange} params=${params} />
    <${ColumnMenu} names=${names} keyed=${keyed} params=${params} />
    <${ExportMenu} files=${files} />
    <${ViewsMenu} href=${withParams({ log: null, tab: null, cursor: null, cols: names.join() }, params)} />
  <//>`;
}

/** Says which parameter of the address has no effect, because it cannot be combined with another parameter. */
function NotTogether({ params, wish: { order, wantsLive, isLive } }) {
  const noTail =
    order === null
      ? 'The live tail cannot search in bodies, so it is off during a text search.'
      : 'The live tail shows the newest requests first, so it is off while the list is sorted.';
  const noOrder = 'A text search shows the newest requests first and cannot be sorted.';
  return html`${wantsLive && !isLive && html`<p class="soft" role="status">${noTail}</p>`}
    ${params.has('sort') && params.get('q') && html`<p class="soft" role="status">${noOrder}</p>`}`;
}

function histogramOf({ points, bucketMs, begin }, shownRange, params) {
  const range = { ...shownRange, from: begin ?? shownRange.from };
  return html`<${RequestHistogram} points=${points} bucketMs=${bucketMs} range=${range} params=${params} />`;
}

/** The sums of all requests that match. `mayCome`: sums that are missing may still come. */
function Sums({ data, histogram, loading, mayCome }) {
  const { total, more, fault } = data;
  return html`${total && html`${histogram}<${Totals} total=${total} loading=${loading} />`}
    ${more && !total && mayCome && html`<div class="summing" role="status">Adding up all matching requests…</div>`}
    ${fault && html`<${NoSums} fault=${fault} />`}`;
}

const NoSums = ({ fault }) =>
  html`<${Notice} tone="bad" title="The matching requests could not be added up">${fault.message} Choose a shorter time range.<//>`;

/** The button that shows the rows that came while somebody read. A screen reader says how many rows wait. */
function Waiting({ count, release }) {
  const words = count >= mostRows ? `${mostRows}+ new requests` : plural(count, 'new request');
  return html`${count > 0 && html`<button type="button" class="waiting" onClick=${release}>${words}</button>`}
    <div class="hidden" role="status" aria-live="polite">${count > 0 ? words : ''}</div>`;
}

/** The records of the page: those of the answer, and in the live tail also those that ended since. No row moves while somebody reads. */
function useRows({ answered, error, of, from, live, isHeld }) {
  const tail = useLiveTail(live, { isHeld });
  const polled = useMemo(() => ({ listed: answered?.data ?? [], begin: from }), [answered, error]);
  const [{ listed, begin }, goOn] = useHeld(polled, { isHeld: live !== null && isHeld, of });
  const records = useMemo(() => {
    if (live === null) return listed;
    // a relative range moves on with every answer, and rows of the tail become too old for it
    const ended = tail.rows.filter(({ createdAt }) => Date.parse(createdAt) >= begin);
    const fresh = new Set(tail.rows.map(({ id }) => id));
    return [...ended, ...listed.filter(({ id }) => !fresh.has(id))].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, mostRows);
  }, [listed, begin, tail.rows, live]);
  const lit = useMemo(() => new Set(tail.rows.filter(isLit).map(({ id }) => id)), [tail.rows]);
  const release = () => {
    goOn();
    tail.release();
  };
  return { tail, records, lit, release };
}

/**
 * The keys of the list: j and k go through the rows, Enter opens a row.
 * Where a request is open, j, k and the brackets open the one next to it.
 */
function useSelection(records, openId, params) {
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const found = records.findIndex(({ id }) => id === (openId ?? chosen));
  // where the chosen row is no longer in the list, the row at its place is chosen
  const last = useRef(-1);
  const at = found < 0 && openId === null ? Math.min(last.current, records.length - 1) : found;
  last.current = at;
  const move = (step) => {
    const next = records[Math.min(records.length - 1, Math.max(0, at + step))];
    if (next === undefined) return;
    setChosen(next.id);
    if (openId !== null) go(withParams({ log: next.id }, params), { replace: true });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ']': () => openId !== null && move(1),
    '[': () => openId !== null && move(-1),
    Enter: () => records[at] !== undefined && go(withParams({ log: records[at].id }, params)),
    Escape: () => openId !== null && go(withParams({ log: null }, params)),
  });
  return at;
}

/** The tail has the newest first, so it ends an order. @param {boolean} isOn */
const liveHref = (isOn) => withParams({ live: isOn ? null : '1', cursor: null, ...(!isOn && { sort: null, order: null }) });

function LiveSwitch({ isLive, wantsLive, isConnected }) {
  return html`<a
    class="button live ${isLive ? 'is-live' : ''}"
    aria-current=${isLive ? 'true' : undefined}
    href=${liveHref(wantsLive)}
    title="Show requests of this instance as they end (l)"
  ><span class="live-dot" /><span>${isLive && !isConnected ? 'Connecting' : 'Live'}</span></a>`;
}

function Totals({ total, loading }) {
  const { requests, errors, promptTokens, completionTokens, cost, unpriced, latencyP50Ms, latencyP95Ms } = total;
  const whole = cost === null ? undefined : `$${cost}`;
  return html`<p class="totals" aria-busy=${loading}>
    <b>${count(requests)}</b> ${requests === 1 ? 'request' : 'requests'}<i>·</i>
    <b class=${errors > 0 ? 'is-bad' : ''}>${percent(errors, requests)}</b> errors<i>·</i>
    <b>${aboutSum(compact(promptTokens + completionTokens), total)}</b> tokens<i>·</i>
    <b title=${whole}>${aboutSum(money(cost), total)}</b>${unpriced > 0 ? html` <${Unpriced} many=${unpriced} />` : ' cost'}<i>·</i>
    p50 <b>${duration(latencyP50Ms)}</b> p95 <b>${duration(latencyP95Ms)}</b>
  </p>`;
}

const Unpriced = ({ many }) =>
  html`<span class="soft" title="no price in the catalogue, or a token count is missing">and ${count(many)} without a price</span>`;

/** The notice for a range that begins before the oldest record: records are deleted after some days, so the range is not complete. */
function Cut({ range, days }) {
  const kept = timeNow() - days * 86_400_000;
  // with a minute of tolerance, so that a range of exactly as many days as are kept counts as complete
  if (!days || range.from >= kept - 60_000) return null;
  return html`<p class="soft">Requests before ${moment(kept)} were removed: the log is kept for ${days} days.</p>`;
}

const isNarrow = matchMedia('(max-width: 1000px)');

function FacetColumn({ facets, total, params }) {
  return html`<details class="facet-column" open=${!isNarrow.matches}>
    <summary>Filters with counts</summary>
    <${Facets} facets=${facets} total=${total} params=${params} />
  </details>`;
}

/** While another list is loading, `next` belongs to the list before, so its link does nothing. */
function Pager({ wish: { cursor, isLive, order }, next, shown, loading }) {
  const isSorted = order !== null;
  const first = html`<a class="button" href=${withParams({ cursor: null })}><${Icon} name="left" /> ${isSorted ? 'First' : 'Newest'}</a>`;
  const older = html`<a
    class="button"
    href=${withParams({ cursor: next })}
    aria-disabled=${loading}
    onClick=${(event) => loading && event.preventDefault()}
  >${isSorted ? 'Next' : 'Older'} <${Icon} name="right" /></a>`;
  return html`<div class="pager">
    <span class="soft">${count(shown)} shown${isLive ? `, ${mostRows} at most` : ''}</span>
    ${cursor !== null && first}
    ${next !== null && !isLive && older}
  </div>`;
}

const kept = ['since', 'from', 'to', 'cols'];
const withoutFilters = (params) => hrefOf(location.pathname, new URLSearchParams([...params].filter(([name]) => kept.includes(name))));

function Empty({ params, wish: { range, isLive }, answer, refresh }) {
  const filters = filtersOf(params);
  const wider = widerSince(params);
  if (filters.length === 0) {
    const widen = hrefOfRange(params, { since: '30d' });
    const isOver = !range.isRelative;
    return html`<${Later} load=${firstRequest} isOver=${isOver} isLive=${isLive} answer=${answer} flipped=${refresh} widen=${widen} />`;
  }
  const what = filters.length === 1 ? 'this filter' : 'all of these filters';
  return html`<${Notice} icon="search" title="No request matches">
    ${rangeLabel(params)}, with ${what}. ${wider !== null && html`<${Widen} params=${params} since=${wider} /> or `}
    <a href=${withoutFilters(params)}>clear the filters</a>.
  <//>`;
}

const Widen = ({ params, since }) => html`<a href=${hrefOfRange(params, { since })}>Widen to ${since.replace('d', ' days')}</a>`;
