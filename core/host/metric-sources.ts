/**
 * Metrics that plugins show at `GET /metrics`: a plugin adds a source, and
 * whatever plugin serves the metrics reads all sources at each scrape.
 */
import { inTime } from '../cancellation.ts';
import { fieldsOf, isFields } from '../wire/fields.ts';

/** One metric with its samples. */
export interface Metric {
  readonly type: 'counter' | 'gauge';
  /** `gateway_<what>_<unit>`, a counter with `_total`: https://prometheus.io/docs/practices/naming/ */
  readonly name: string;
  readonly help: string;
  /** For a gauge: which value is shown where there are several workers (`server.workers`). Absent: their sum. */
  readonly across?: Across;
  /** Labels and value of each sample. Keep samples few: each one is a time series in Prometheus. */
  readonly samples: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
}

export type Across = 'least' | 'largest';

export type ReadMetrics = () => readonly Metric[] | Promise<readonly Metric[]>;

export interface MetricSources {
  add(read: ReadMetrics): void;
  /**
   * The metrics of all sources. Metrics with the same name are joined into one. Where a source throws,
   * its error is logged once, its counters stay as they were, and its gauges are left out.
   */
  read(): Promise<Metric[]>;
}

const isName = (value: unknown): boolean => typeof value === 'string' && /^[a-zA-Z_:][\w:]*$/.test(value);
const isLabel = ([name, value]: [string, unknown]): boolean => /^[a-zA-Z_]\w*$/.test(name) && typeof value === 'string';
const isSample = (value: unknown): boolean =>
  Array.isArray(value) && isFields(value[0]) && Object.entries(value[0]).every(isLabel) && typeof value[1] === 'number';

function isMetric(value: unknown): value is Metric {
  const { type, name, help, samples } = fieldsOf(value);
  return (
    (type === 'counter' || type === 'gauge') &&
    isName(name) &&
    typeof help === 'string' &&
    Array.isArray(samples) &&
    samples.every(isSample)
  );
}

/** safety: one metric that Prometheus cannot parse would make Prometheus drop all the others. */
function sound(given: unknown): readonly Metric[] {
  if (!Array.isArray(given)) throw new TypeError('a source of metrics must give a list of them');
  const at = given.findIndex((metric) => !isMetric(metric));
  if (at >= 0) {
    throw new TypeError(
      `the metric ${at + 1} of a source, ${String(fieldsOf(given[at])['name'])}, is not { type: 'counter' or 'gauge', name, help, samples: [[labels, number], …] }`,
    );
  }
  return given as Metric[];
}

/**
 * Joins the metrics with the same name into one.
 * safety: the format allows one TYPE line for a name. Some readers refuse the whole text because
 * of a second one, and where workers are added up, the second metric would replace the first
 */
function joined(metrics: readonly Metric[]): Metric[] {
  const byName = new Map<string, Metric>();
  for (const metric of metrics) {
    const known = byName.get(metric.name);
    byName.set(metric.name, known === undefined ? metric : { ...known, samples: [...known.samples, ...metric.samples] });
  }
  return [...byName.values()];
}

/** How long to wait for a source: half of the time that Prometheus waits for all. */
const patienceMs = 5000;

/** The sources of all plugins. */
interface AllMetricSources {
  /** The sources, under the name of this plugin. */
  of(plugin: string): MetricSources;
}

/** @param failed called once for each source that throws, is late, or returns something that is not a metric */
export function createMetricSources(failed: (plugin: string, error: unknown) => void): AllMetricSources {
  const sources: { readonly plugin: string; readonly read: ReadMetrics }[] = [];
  const silent = new Set<ReadMetrics>();
  /** The counters that each source gave last. */
  const counters = new Map<ReadMetrics, readonly Metric[]>();
  const readOne = async ({ plugin, read }: (typeof sources)[number]): Promise<readonly Metric[]> => {
    try {
      const metrics = sound(await inTime(Promise.resolve(read()), patienceMs));
      counters.set(
        read,
        metrics.filter(({ type }) => type === 'counter'),
      );
      return metrics;
    } catch (error) {
      if (!silent.has(read)) failed(plugin, error);
      silent.add(read);
      // safety: where workers are added up, the sum would go down without them, which looks like a restart of the gateway
      return counters.get(read) ?? [];
    }
  };
  return {
    of: (plugin) => ({
      add: (read) => void sources.push({ plugin, read }),
      read: async () => joined((await Promise.all(sources.map(readOne))).flat()),
    }),
  };
}
