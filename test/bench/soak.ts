/** The gateway under a steady load for ten minutes (SOAK_SECONDS=60 makes it shorter): whether its memory and its times stay the same. */
import type { Seen } from './callers.ts';
import { median, milliseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, waitingRecordsOf } from './gateway.ts';
import type { StartedGateway } from './gateway.ts';
import { cpuMsOf, fileBeside, residentMbOf, startProcess, wait } from './processes.ts';
import type { Started } from './processes.ts';

const seconds = Number(process.env['SOAK_SECONDS'] ?? 600);
const offered = 2000;
const streams = 500;
const samples = 21;

interface Sample {
  readonly second: number;
  readonly residentMb: number;
  readonly plain: Seen;
  readonly streamed: Seen;
  readonly waitingRecords: number;
}

interface Load {
  readonly plain: Started;
  readonly streamed: Started;
}

async function startLoad(url: string): Promise<Load> {
  const callers = (kind: string, number: number): Promise<Started> =>
    startProcess({ name: `callers-${kind}`, args: [fileBeside('./callers.ts'), kind, String(number), url] });
  return { streamed: await callers('streams', streams), plain: await callers('plain', offered) };
}

const seenBy = async ({ url }: Started): Promise<Seen> => (await (await fetch(url)).json()) as Seen;

async function sampleOf(gateway: StartedGateway, load: Load, second: number): Promise<Sample> {
  const [plain, streamed, waitingRecords] = await Promise.all([seenBy(load.plain), seenBy(load.streamed), waitingRecordsOf(gateway.url)]);
  return { second, residentMb: residentMbOf(gateway.pid) ?? NaN, plain, streamed, waitingRecords };
}

const columns = ['second', 'memory', 'p50', 'p99', 'served', 'streams open', 'streams ended', 'errors', 'records waiting'];

const rowOf = (cells: readonly string[]): string =>
  `  ${cells.map((cell, at) => cell.padStart(Math.max(9, (columns[at] as string).length))).join('  ')}\n`;

const errorsOf = ({ plain, streamed }: Sample): number => plain.errors + streamed.errors;

const cellsOf = (sample: Sample): string[] => [
  sample.second.toFixed(0),
  `${sample.residentMb.toFixed(0)} MB`,
  milliseconds(sample.plain.p50),
  milliseconds(sample.plain.p99),
  perSecond(sample.plain.served / sample.plain.seconds),
  String(sample.streamed.open),
  String(sample.streamed.served),
  String(errorsOf(sample)),
  String(sample.waitingRecords),
];

/** One sample at the end of each period; its line is printed at once. */
async function watch(gateway: StartedGateway, load: Load): Promise<Sample[]> {
  const list: Sample[] = [];
  const periodS = seconds / samples;
  const startedAt = performance.now();
  process.stdout.write(rowOf(columns));
  for (let at = 1; at <= samples; at++) {
    await wait(Math.max(0, startedAt + at * periodS * 1000 - performance.now()));
    const sample = await sampleOf(gateway, load, at * periodS);
    process.stdout.write(rowOf(cellsOf(sample)));
    list.push(sample);
  }
  return list;
}

/** The median of the last third of the samples beside that of the middle third. The first third is the warm-up. */
function drift(what: string, values: readonly number[], { most, show }: { most: number; show: (value: number) => string }): Figure {
  const third = Math.floor(values.length / 3);
  const [last, middle] = [median(values.slice(-third)), median(values.slice(third, -third))];
  return {
    what: `${what}, last third beside the middle third`,
    gateway: show(last),
    floor: show(middle),
    ratio: last / middle,
    target: `≤ ${most} ×`,
    isMet: last / middle <= most,
  };
}

const warmUpS = 120;

/**
 * Megabytes a minute by least squares, after the warm-up. One run of ten
 * minutes is exact to one megabyte, because memory goes up and down by ten.
 */
function growthOf(list: readonly Sample[]): Figure[] {
  const points = list.filter(({ second }) => second >= warmUpS).map(({ second, residentMb }) => ({ minute: second / 60, mb: residentMb }));
  if (points.length < 3) return [];
  const mean = (of: (point: (typeof points)[number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minute, mb] = [mean((point) => point.minute), mean((point) => point.mb)];
  const slope = mean((point) => (point.minute - minute) * (point.mb - mb)) / mean((point) => (point.minute - minute) ** 2);
  return [
    {
      what: `memory (RSS), growth after the first ${warmUpS / 60} minutes`,
      gateway: `${slope.toFixed(2)} MB a minute`,
      target: '≤ 1 MB a minute',
      isMet: slope <= 1,
    },
  ];
}

function figuresOf(list: readonly Sample[]): Figure[] {
  const errors = list.reduce((sum, sample) => sum + errorsOf(sample), 0);
  const first = list.map(({ plain, streamed }) => plain.firstError ?? streamed.firstError).find((error) => error !== null);
  const sumOf = (count: (seen: Seen) => number): number => list.reduce((sum, { plain }) => sum + count(plain), 0);
  return [
    drift(
      'memory (RSS)',
      list.map(({ residentMb }) => residentMb),
      { most: 1.1, show: (mb) => `${mb.toFixed(0)} MB` },
    ),
    ...growthOf(list),
    drift(
      'p99 of plain requests',
      list.map(({ plain }) => plain.p99),
      { most: 1.5, show: milliseconds },
    ),
    {
      what: `plain requests served, of ${offered}/s offered`,
      gateway: perSecond(sumOf(({ served }) => served) / sumOf(({ seconds }) => seconds)),
    },
    { what: 'plain requests that found all connections taken', gateway: String(sumOf(({ unsent }) => unsent)) },
    {
      what: 'streams open, the fewest after the first third',
      gateway: String(Math.min(...list.slice(list.length / 3).map(({ streamed }) => streamed.open))),
    },
    { what: `errors${first === undefined ? '' : `, the first: ${first}`}`, gateway: String(errors), target: '0', isMet: errors === 0 },
    { what: 'records waiting, the most', gateway: String(Math.max(...list.map(({ waitingRecords }) => waitingRecords))) },
  ];
}

/** The share of one core that each process used. A load process that uses a whole core limits the result. */
function busy(processes: readonly Started[]): () => Figure[] {
  const before = processes.map(({ pid }) => cpuMsOf(pid));
  return () =>
    processes.map(({ name, pid }, at) => ({
      what: `CPU of ${name}, all threads`,
      gateway: `${((cpuMsOf(pid) - (before[at] as number)) / seconds / 10).toFixed(0)} % of a core`,
    }));
}

export default {
  name: 'soak',
  about: `${offered} plain requests a second and ${streams} streams at a time for ${seconds} seconds, every shipped plugin on, records drained into SQLite`,
  async measure() {
    const provider = await startBenchProvider();
    const gateway = await startBenchGateway({ upstream: provider.url });
    const load = await startLoad(gateway.url);
    const used = busy([gateway, provider, load.plain, load.streamed]);
    const list = await watch(gateway, load);
    const figures = [...figuresOf(list), ...used()];
    await load.plain.stop();
    await load.streamed.stop();
    const stoppedAt = performance.now();
    await gateway.drained?.();
    const drainedMs = performance.now() - stoppedAt;
    await gateway.stop();
    await provider.stop();
    return [...figures, { what: 'until the last record is in SQLite, after the load', gateway: milliseconds(drainedMs) }];
  },
} satisfies Subject;
