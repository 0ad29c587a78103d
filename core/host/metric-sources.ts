/** Metrics that plugins show at `GET /metrics`: a plugin adds a source, and whatever plugin serves the metrics reads all sources at each scrape. */

/** One metric with its samples. */
export interface Metric {
  readonly type: 'counter' | 'gauge';
  /** `gateway_<what>_<unit>`, a counter with `_total`: https://prometheus.io/docs/practices/naming/ */
  readonly name: string;
  readonly help: string;
  /** Of a gauge: which value of all workers is shown where there are several (`server.workers`). Absent: their sum. */
  readonly across?: Across;
  /** Labels and value of each. Keep them few: each is a series in the database of whoever scrapes. */
  readonly samples: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
}

export type Across = 'least' | 'largest';

export type ReadMetrics = () => readonly Metric[] | Promise<readonly Metric[]>;

export interface MetricSources {
  add(read: ReadMetrics): void;
  /** The metrics of all sources. What a source throws is said once in the process log, and its metrics are left out. */
  read(): Promise<Metric[]>;
}

/** @param failed told of a source that throws */
export function createMetricSources(failed: (error: unknown) => void): MetricSources {
  const sources: ReadMetrics[] = [];
  const silent = new Set<ReadMetrics>();
  const readOne = async (read: ReadMetrics): Promise<readonly Metric[]> => {
    try {
      return await read();
    } catch (error) {
      if (!silent.has(read)) failed(error);
      silent.add(read);
      return [];
    }
  };
  return {
    add: (read) => void sources.push(read),
    read: async () => (await Promise.all(sources.map(readOne))).flat(),
  };
}
