/**
 * The page Breakdown: one measure by one dimension, as a ranking beside
 * the time before, or over time. A row opens to show a second dimension.
 */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Legend } from '../parts/chart-words.js';
import { BreakdownTable } from '../parts/breakdown-table.js';
import { ExportMenu } from '../parts/export-menu.js';
import { fields } from '../parts/fields.js';
import { measuresOf, rankOf } from '../parts/measures.js';
import { go, withParams } from '../parts/location.js';
import { apiParams, bucketOf, isKeyed, keyOf, rangeOf } from '../parts/query.js';
import { zoomOf } from '../parts/request-histogram.js';
import { SearchBar } from '../parts/search-bar.js';
import { Select } from '../parts/select.js';
import { Head } from '../parts/shell.js';
import { useShownRange } from '../parts/shown-range.js';
import { ratesOf, stackOf } from '../parts/stack.js';
import { Notice, Unready } from '../parts/states.js';
import { TimeChart } from '../parts/time-chart.js';
import { TimeRange } from '../parts/time-range.js';
import { ViewsMenu } from '../parts/views-menu.js';

/** The labels of all dimensions, by the name of their filter. */
const dimensions = Object.fromEntries(fields.filter(({ isDimension }) => isDimension).map(({ filter, label }) => [filter, label]));
/** What attempts can be summed up by. */
const ofAttempts = { 'attempt.provider': 'Provider', 'attempt.model': 'Model', 'attempt.code': 'Outcome', 'attempt.target': 'Target' };
const tops = ['10', '20', '50', '100'];

/** @param {string} by */
const usualOf = (by) => (by.startsWith('attempt.') ? 'requests' : 'cost');

/**
 * The measure of the address. While another dimension is loading, the rows are of the dimension before, which may not have that measure.
 * @param {URLSearchParams} params @param {string} by
 */
const metricOf = (params, by) => (Object.hasOwn(measuresOf(by), params.get('metric') ?? '') ? params.get('metric') : usualOf(by));

/** @param {{ params: URLSearchParams }} props */
export function BreakdownPage({ params }) {
  const range = rangeOf(params);
  const bucketMs = bucketOf(range.to - range.from, 60);
  const by = params.get('by') ?? 'model';
  const isTried = Object.hasOwn(ofAttempts, by);
  const metric = metricOf(params, by);
  const isOverTime = params.get('view') === 'time';
  const asked = Number(params.get('top'));
  const top = asked > 0 ? asked : 20;
  const query = apiParams(params, { by, rank: rankOf(metric), ...(isOverTime && { bucket: String(bucketMs) }) });
  const everyMs = range.isRelative ? 20_000 : 0;
  const { data, error, loading, reload } = useData(`/api/views/breakdown?${query}`, { everyMs });
  const shownRange = useShownRange(range, loading);
  const keyed = data?.keyed ?? [by].filter(isKeyed);
  const rows = apiParams(params, { by, format: 'csv' });
  const measured = Object.entries(measuresOf(by)).map(([name, { label }]) => [name, label]);
  return html`<${Head} title="Breakdown">
      <${TimeRange} params=${params} />
      <${ExportMenu} files=${[
        [`/api/stats?limit=1000&${rows}`, 'CSV', 'one row per value, with all figures'],
        [`/api/series?bucket=${bucketMs / 1000}s&${rows}`, 'CSV over time', 'one row per value and time'],
      ]} />
      <${ViewsMenu} href=${withParams({}, params)} />
    <//>
    <${SearchBar} params=${params} facets=${{}} />
    <div class="pickers">
      <label>Measure <${Select} value=${metric} options=${measured} onChange=${choose('metric', usualOf(by))} /></label>
      <label>by <${Dimension} value=${by} keyed=${keyed} onChange=${choose('by', 'model')} /></label>
      ${
        !isTried &&
        html`<label>
          then by <${Dimension} value=${params.get('sub') ?? ''} keyed=${keyed} none="nothing" onChange=${choose('sub', '')} />
        </label>`
      }
      <label>top <${Select} value=${String(top)} options=${tops.map(String)} onChange=${choose('top', '20')} /></label>
      <span class="segments" role="group" aria-label="View">
        <a aria-current=${!isOverTime ? 'true' : undefined} href=${withParams({ view: null })}>Ranking</a>
        <a aria-current=${isOverTime ? 'true' : undefined} href=${withParams({ view: 'time' })}>Over time</a>
      </span>
    </div>
    <${Unready} data=${data} error=${error} reload=${reload} rows=${10} />
    ${
      data !== null &&
      (data.total.requests === 0
        ? html`<${Notice} icon="search" title="No request matches">Choose a longer time range, or remove a filter.<//>`
        : html`<div class=${loading ? 'is-loading' : ''}>
          <${Answer} data=${data} range=${shownRange} isOverTime=${isOverTime} top=${top} params=${params} />
        </div>`)
    }`;
}

/** While another dimension is loading, `data` is of the dimension before, and is shown with the name and the measure of `data.by`. */
function Answer({ data, range, isOverTime, top, params }) {
  const name = dimensions[data.by] ?? ofAttempts[data.by] ?? keyOf(data.by);
  const metric = metricOf(params, data.by);
  return html`${isOverTime && data.points.length > 0 && html`<${OverTime} data=${data} metric=${metric} range=${range} params=${params} />`}
    <${BreakdownTable} data=${data} name=${name} metric=${metric} top=${top} params=${params} />`;
}

const choose = (name, usual) => (event) => go(withParams({ [name]: event.target.value === usual ? null : event.target.value }));

function Dimension({ value, keyed, none, onChange }) {
  const groups = {
    Metadata: keyed.filter((name) => name.startsWith('meta.')),
    'Fields of plugins': keyed.filter((name) => name.startsWith('field.')),
  };
  return html`<select value=${value} onChange=${onChange}>
    ${none !== undefined && html`<option value="">${none}</option>`}
    ${Object.entries(dimensions).map(([name, label]) => html`<option key=${name} value=${name}>${label}</option>`)}
    ${
      none === undefined &&
      html`<optgroup label="Attempts">${Object.entries(ofAttempts).map(
        ([name, label]) => html`<option key=${name} value=${name}>${label}</option>`,
      )}</optgroup>`
    }
    ${Object.entries(groups).map(
      ([label, names]) =>
        names.length > 0 &&
        html`<optgroup key=${label} label=${label}>${names.map(
          (name) => html`<option key=${name} value=${name}>${keyOf(name)}</option>`,
        )}</optgroup>`,
    )}
  </select>`;
}

function OverTime({ data, metric, range, params }) {
  const { label, of, format, isRate, isCounted } = measuresOf(data.by)[metric];
  const how = { bucketMs: data.bucketMs, top: 8, isCounted };
  const { times, lines } = isRate
    ? ratesOf(data.points, range, { ...how, of })
    : stackOf(data.points, range, { ...how, all: data.all, of: (point) => of(point) ?? 0 });
  return html`<section class="card over-time">
    <header><h2>${label} over time</h2></header>
    <${TimeChart}
      title=${`${label} over time`}
      kind=${isRate ? 'lines' : 'bars'}
      times=${times}
      lines=${lines}
      range=${{ from: times[0], to: range.to }}
      bucketMs=${data.bucketMs}
      format=${format}
      height=${240}
      onZoom=${zoomOf(params)}
    />
    <${Legend} lines=${lines} />
  </section>`;
}
