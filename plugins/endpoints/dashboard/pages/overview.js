/**
 * The page Overview: requests, errors, cost, tokens and latency of a range, beside
 * the time before, with the largest models, providers, keys and metadata values.
 */
import { html } from '../parts/html.js';
import { Alerts } from '../parts/alerts.js';
import { useData } from '../parts/api.js';
import { Legend } from '../parts/chart-words.js';
import { aboutSum, isRough, partly } from '../parts/estimate.js';
import { Later } from '../parts/later.js';
import { Availability, wordsOfTried, Worst, worstOf } from '../parts/availability.js';
import { ago, compact, count, duration, exact, failsMuch, moment, money, plural } from '../parts/format.js';
import { HealthStrip } from '../parts/health-strip.js';
import { go, hrefOf, withParams } from '../parts/location.js';
import { apiParams, bucketOf, rangeOf } from '../parts/query.js';
import { timeOf } from '../parts/time-of.js';
import { ranks, TopList } from '../parts/top-list.js';
import { filled, RequestHistogram, zoomOf } from '../parts/request-histogram.js';
import { Select } from '../parts/select.js';
import { Head } from '../parts/shell.js';
import { useShownRange } from '../parts/shown-range.js';
import { Unready } from '../parts/states.js';
import { stackOf } from '../parts/stack.js';
import { TimeChart } from '../parts/time-chart.js';
import { hrefOfRange, TimeRange } from '../parts/time-range.js';
import { Metrics } from '../parts/metrics.js';

const firstRequest = () => import('../parts/first-request.js').then((part) => part.FirstRequest);

/** Few requests take longer than this, so points that are older hardly change. */
const longestMs = 900_000;

/** Older points hardly change, so only the newest points are asked for again. */
const changes = {
  query: ({ points, bucketMs, begin }) =>
    begin !== null ? '' : `&after=${Math.floor(((points.at(-1)?.at ?? 0) - longestMs) / bucketMs) * bucketMs}`,
  join(data, { after, ...changed }) {
    const joined = (before = [], points) => [...before.filter((point) => timeOfPoint(point) < after), ...points];
    const triedBefore = (provider) => data.attempts.find((one) => one.provider === provider)?.points;
    return {
      ...changed,
      points: joined(data.points, changed.points),
      byModel: joined(data.byModel, changed.byModel),
      attempts: changed.attempts.map((tried) => ({ ...tried, points: joined(triedBefore(tried.provider), tried.points) })),
    };
  },
};

const timeOfPoint = (point) => (Array.isArray(point) ? point[0] : point.at);

/** @param {{ params: URLSearchParams }} props */
export function OverviewPage({ params }) {
  const range = rangeOf(params);
  const bucketMs = bucketOf(range.to - range.from, 60);
  const meta = params.get('meta');
  const asked = params.get('rank') ?? '';
  const rank = Object.hasOwn(ranks, asked) ? asked : 'requests';
  const query = apiParams(params, { bucket: String(bucketMs), rank, ...(meta !== null && { meta }) });
  const everyMs = range.isRelative ? 10_000 : 0;
  const { data, error, loading, reload } = useData(`/api/views/overview?${query}`, { everyMs, changes });
  const shownRange = useShownRange(range, loading);
  const { data: alerts } = useData('/api/alerts', { everyMs: 10_000 });
  return html`<${Head} title="Overview"><${TimeRange} params=${params} /><//>
    <${Alerts} alerts=${alerts} params=${params} />
    <${Unready} data=${data} error=${error} reload=${reload} rows=${10} />
    ${
      data !== null &&
      (data.total.requests === 0
        ? html`<${Later}
          load=${firstRequest}
          isOver=${!range.isRelative}
          answer=${error ?? data}
          flipped=${reload}
          widen=${hrefOfRange(params, { since: '30d' })}
        />`
        : html`<div class=${loading ? 'is-loading' : ''}>
          <${Filled}
            data=${data}
            alerts=${alerts}
            range=${data.begin === null ? shownRange : { ...shownRange, from: data.begin }}
            rank=${rank}
            params=${params}
          />
        </div>`)
    }`;
}

function Filled({ data, alerts, range, rank, params }) {
  return html`<${Metrics} data=${data} range=${range} alerts=${alerts} />
    <div class="charts">
      <section class="card wide">
        <header>
          <h2>Requests ${data.begin !== null && html`<span class="soft">since the first request</span>`}</h2>
          <a href=${hrefOf('/dashboard/logs', timeOf(params))}>View logs</a>
        </header>
        <${RequestHistogram}
          points=${data.points}
          bucketMs=${data.bucketMs}
          range=${range}
          params=${params}
          height=${170}
          isBare=${false}
        />
      </section>
      <${Spend} data=${data} range=${range} params=${params} />
      <${Latency} data=${data} range=${range} params=${params} />
      <${Tokens} data=${data} range=${range} params=${params} />
    </div>
    <${Attempts} data=${data} range=${range} params=${params} />
    <${Largest} data=${data} rank=${rank} params=${params} />
    <div class="tops">
      <${Faults} faults=${data.faults} params=${params} />
      <${HealthStrip} />
    </div>`;
}

/** The models, providers, keys and metadata values that have the most of what they are ranked by. */
function Largest({ data, rank, params }) {
  const { models, providers, keys, total } = data;
  const link = (field) => (value) => asking(params, { ...(rank === 'errors' && { status: 'error' }), [field]: value ?? '' });
  const by = (field) => ({ total, rank, link: link(field), more: withMore(params, field, rank) });
  const rankedBy = ([name, { label }]) =>
    html`<a
      key=${name}
      aria-current=${rank === name ? 'true' : undefined}
      href=${withParams({ rank: name === 'requests' ? null : name }, params)}
    >${label}</a>`;
  return html`<div class="pickers tops-head">
      <h2>Largest</h2>
      <span class="segments" role="group" aria-label="Rank by">${Object.entries(ranks).map(rankedBy)}</span>
    </div>
    <div class="tops">
      <${TopList} title="Models" rows=${models} ...${by('model')} />
      <${TopList} title="Providers" rows=${providers} ...${by('provider')} />
      <${TopList} title="Keys" rows=${keys} ...${by('key')} none="no key" />
      <${MetaTop} data=${data} rank=${rank} link=${link} params=${params} />
    </div>`;
}

/** The measure of a breakdown for each rank of a list. */
const metricOf = { requests: 'requests', cost: 'cost', errors: 'errors', latency: 'latency-p95' };
function withMore(params, by, rank = 'cost') {
  const metric = rank === 'cost' ? [] : [['metric', metricOf[rank]]];
  return hrefOf('/dashboard/breakdown', new URLSearchParams([...timeOf(params), ['by', by], ...metric]));
}

function Spend({ data, range, params }) {
  const { times, lines } = stackOf(data.byModel, range, {
    all: data.points,
    bucketMs: data.bucketMs,
    of: ({ cost }) => Number(cost ?? 0),
    top: 6,
    isCounted: true,
  });
  return html`<section class="card">
    <header><h2>Cost by model</h2><b class="card-figure">${aboutSum(money(data.total.cost), data.total)}</b></header>
    <${TimeChart}
      title="Cost by model over time"
      summary=${`${money(data.total.cost)} in all${partly(data.total)}.`}
      times=${times}
      lines=${lines}
      range=${{ from: times[0], to: range.to }}
      bucketMs=${data.bucketMs}
      format=${money}
      onZoom=${zoomOf(params)}
    />
    <${Legend} lines=${lines} />
  </section>`;
}

function Latency({ data, range, params }) {
  const { times, at } = filled(data.points, range, data.bucketMs);
  const lines = [
    { label: 'p99', colour: '--c5', values: at.map((point) => point?.latencyP99Ms ?? null) },
    { label: 'p95', colour: '--c1', values: at.map((point) => point?.latencyP95Ms ?? null) },
    { label: 'p50', colour: '--c2', values: at.map((point) => point?.latencyP50Ms ?? null) },
    { label: 'First token p50', colour: '--c3', values: at.map((point) => point?.timeToFirstTokenP50Ms ?? null) },
  ];
  return html`<section class="card">
    <header><h2>Latency</h2><b class="card-figure">p95 ${duration(data.total.latencyP95Ms)}</b></header>
    <${TimeChart}
      title="Latency over time"
      summary=${`p50 ${duration(data.total.latencyP50Ms)}, p95 ${duration(data.total.latencyP95Ms)}.`}
      kind="lines"
      isLog=${true}
      band=${[2, 1]}
      times=${times}
      lines=${lines}
      range=${{ from: times[0], to: range.to }}
      bucketMs=${data.bucketMs}
      format=${duration}
      onZoom=${zoomOf(params)}
    />
    <${Legend} lines=${lines} />
  </section>`;
}

function Tokens({ data, range, params }) {
  const { times, at } = filled(data.points, range, data.bucketMs);
  const of = (read) => ({
    values: at.map((point) => (point === null ? 0 : Math.max(0, read(point)))),
    estimated: at.map((point) => point !== null && isRough(point)),
  });
  const lines = [
    { label: 'Input', colour: '--c1', ...of(({ promptTokens, cachedTokens }) => promptTokens - cachedTokens) },
    { label: 'Cached input', colour: '--c4', ...of(({ cachedTokens }) => cachedTokens) },
    { label: 'Reasoning', colour: '--c3', ...of(({ reasoningTokens }) => reasoningTokens) },
    { label: 'Answer', colour: '--c2', ...of(({ completionTokens, reasoningTokens }) => completionTokens - reasoningTokens) },
  ];
  return html`<section class="card">
    <header>
      <h2>Tokens</h2>
      <b class="card-figure">${aboutSum(compact(data.total.promptTokens + data.total.completionTokens), data.total)}</b>
    </header>
    <${TimeChart}
      title="Tokens over time"
      summary=${`${count(data.total.promptTokens)} in, ${count(data.total.completionTokens)} out${partly(data.total)}.`}
      times=${times}
      lines=${lines}
      range=${{ from: times[0], to: range.to }}
      bucketMs=${data.bucketMs}
      format=${compact}
      onZoom=${zoomOf(params)}
    />
    <${Legend} lines=${lines} />
  </section>`;
}

const chooseMeta = (event) => go(withParams({ meta: event.target.value }), { replace: true });

function MetaTop({ data, rank, link, params }) {
  if (data.meta === null) {
    return html`<section class="card top">
      <header><h2>Metadata</h2></header>
      <p class="soft">Send headers that begin with <code>X-Gateway-</code>, and their values appear here.</p>
    </section>`;
  }
  const picker = html`<${Select} aria-label="Metadata key" value=${data.meta} options=${data.metaKeys} onChange=${chooseMeta} />`;
  return html`<${TopList}
    title=${picker}
    rows=${data.values}
    total=${data.total}
    rank=${rank}
    link=${link(`meta.${data.meta}`)}
    more=${withMore(params, `meta.${data.meta}`, rank)}
    none="(none)"
  />`;
}

const isBad = (tried, bucketMs) => tried.errors > tried.rescued && (failsMuch(tried) || worstOf(tried.points, bucketMs) !== null);

/** Each provider that was asked, with what failed there, whichever provider answered in the end. */
function Attempts({ data: { attempts, total, bucketMs }, range, params }) {
  if (attempts.length === 0) return null;
  return html`<section class="card attempts">
    <header>
      <h2>Attempts by provider</h2>
      ${
        total.rescued > 0 &&
        html`<a href=${asking(params, { rescued: 'true' })}>${plural(total.rescued, 'request')} rescued by fallback</a>`
      }
      <a href=${withMore(params, 'attempt.provider')}>Breakdown</a>
    </header>
    <ul>${attempts.map(
      (tried) => html`<li key=${tried.provider}><a href=${asking(params, { tried: tried.provider ?? '' })}>
        <b>${tried.provider}</b>
        <span class=${isBad(tried, bucketMs) ? 'is-bad' : 'soft'}>${wordsOfTried(tried)}</span>
        <${Worst} tried=${tried} bucketMs=${bucketMs} />
        <${Availability} tried=${tried} range=${range} bucketMs=${bucketMs} />
      </a></li>`,
    )}</ul>
  </section>`;
}

const asking = (params, filters) => hrefOf('/dashboard/logs', new URLSearchParams([...timeOf(params), ...Object.entries(filters)]));

/** A group of errors links to the requests in which the error happened. */
const hrefOfFault = ({ provider, code }, params) =>
  asking(params, provider === null ? { error: code, attempts: '0' } : { tried: provider, 'attempt.code': code });

function Faults({ faults, params }) {
  const list = html`<ul class="error-list">
    ${faults.map((fault) => html`<${FaultRow} key=${`${fault.provider} ${fault.code}`} fault=${fault} params=${params} />`)}
  </ul>`;
  return html`<section class="card errors">
    <header><h2>Latest errors</h2><a href=${asking(params, { status: 'error' })}>All</a></header>
    ${faults.length === 0 ? html`<p class="soft">None in this time.</p>` : list}
  </section>`;
}

function FaultRow({ fault, params }) {
  const { provider, code, count: many, rescued, firstAt, lastAt } = fault;
  const pill = html` <span class="pill">${rescued === many ? 'all' : count(rescued)} rescued</span>`;
  return html`<li><a href=${hrefOfFault(fault, params)}>
    <b class="error-count">${compact(many)}</b>
    <span class="error-what"><b>${provider ?? 'no provider asked'}</b> ${code}${rescued > 0 && pill}</span>
    <span class="error-times">
      ${many > 1 && html`since <${Time} at=${firstAt}>${moment(firstAt)}<//>, last `}
      <${Time} at=${lastAt}>${ago(lastAt)}<//>
    </span>
  </a></li>`;
}

const Time = ({ at, children }) => html`<time datetime=${new Date(at).toISOString()} title=${exact(at)}>${children}</time>`;
