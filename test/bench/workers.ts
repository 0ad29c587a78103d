/** Two workers on two cores, compared with one process on one core: the gain of a second worker. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { connect } from 'node:net';
import { median, microseconds, perSecond, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { kernelPlugins, startBenchGateway, startBenchProvider } from './gateway.ts';
import type { StartedGateway } from './gateway.ts';
import { cpuMsOf, familyOf, residentMbOf } from './processes.ts';
import type { Started } from './processes.ts';
import { headers, path, requestFor } from './workload.ts';

const connections = 32;
const rounds = 7;
/**
 * With 60,000 requests, of which each worker gets half, V8 still compiled in the measured
 * rounds of the workers alone: their ratio was 1.5 in one run and 1.8 in the next.
 */
const warmUp = 240_000;
const requests = 8000;

const body = requestFor('plain');
const bytes = Buffer.from(
  [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n'),
);

/** cost: an HTTP client would take as much CPU as a third of the gateway, on the same cores. This one writes bytes and counts bytes. */
class Caller {
  readonly #socket;
  #left = 0;
  #length = 0;
  #resolve: (() => void) | null = null;

  constructor(url: string) {
    this.#socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay();
    this.#socket.on('data', (data) => this.#take(data));
  }

  ask(): Promise<void> {
    this.#socket.write(bytes);
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    if (this.#left === 0) {
      const head = data.indexOf('\r\n\r\n');
      const text = data.toString('latin1', 0, head);
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(`refused: ${data.toString()}`);
      this.#length = head + 4 + Number(/^content-length: (\d+)/im.exec(text)?.[1]);
      this.#left = this.#length;
    }
    this.#left -= data.length;
    if (this.#left === 0) this.#resolve?.();
  }
}

interface Round {
  readonly rate: number;
  /** The CPU time of a request in milliseconds: that of the gateway, and that of the callers and the provider. */
  readonly gateway: number;
  readonly rest: number;
  /** The share of the busiest worker in the CPU time of all workers. */
  readonly busiest: number;
}

interface Line {
  readonly gateway: StartedGateway;
  readonly callers: Caller[];
  readonly rounds: Round[];
}

async function round({ callers, gateway }: Line, provider: Started): Promise<Round> {
  const members = familyOf(gateway.pid);
  const own = (pid: number): number =>
    cpuMsOf(pid) - (members[0] === pid ? members.slice(1).reduce((sum, child) => sum + cpuMsOf(child), 0) : 0);
  const before = members.map(own);
  const [providerBefore, callersBefore] = [cpuMsOf(provider.pid), process.cpuUsage()];
  const startedAt = performance.now();
  let sent = 0;
  await Promise.all(
    callers.map(async (caller) => {
      while (sent++ < requests) await caller.ask();
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(callersBefore);
  const callersMs = (user + system) / 1000;
  // storing the records is a part of the cost
  await gateway.drained?.();
  const spent = members.map((pid, at) => own(pid) - (before[at] as number));
  const all = spent.reduce((sum, ms) => sum + ms, 0);
  return {
    rate: requests / seconds,
    gateway: all / requests,
    rest: (cpuMsOf(provider.pid) - providerBefore + callersMs) / requests,
    busiest: Math.max(...spent) / all,
  };
}

/** Keeps all threads of a process on one core, also threads that start later. */
const pin = ({ pid }: Started): void => void execFileSync('taskset', ['-apc', '0', String(pid)]);

/** The connections are opened later, because a connection without a request is closed after ten seconds. */
const lineTo = (gateway: StartedGateway): Line => ({ gateway, callers: [], rounds: [] });

/** The rounds of all lines take turns, so that other work of the machine affects all of them in the same way. */
async function measureAll(lines: readonly Line[], provider: Started): Promise<void> {
  for (const { gateway, callers } of lines) callers.push(...Array.from({ length: connections }, () => new Caller(gateway.url)));
  for (let sent = 0; sent < warmUp; sent += requests) for (const line of lines) await round(line, provider);
  for (let turn = 0; turn < rounds; turn++) {
    for (const line of lines) line.rounds.push(await round(line, provider));
  }
}

const memoryOf = ({ gateway }: Line): string =>
  familyOf(gateway.pid)
    .map((pid) => `${residentMbOf(pid)?.toFixed(0)}`)
    .join(' + ');

function figuresOf(name: string, one: Line, two: Line): Figure[] {
  const of = (line: Line, what: keyof Round): number[] => line.rounds.map((one) => one[what]);
  const room = median(of(two, 'gateway').map((cost, at) => (2 * (of(one, 'gateway')[at] as number)) / cost));
  return [
    ratioFigure(`requests per second, ${name}`, { gateway: of(two, 'rate'), floor: of(one, 'rate'), show: perSecond }),
    ratioFigure(`CPU per request, parent included, ${name}`, {
      gateway: of(two, 'gateway'),
      floor: of(one, 'gateway'),
      show: microseconds,
    }),
    {
      what: `requests per second by the CPU per request, if the gateway had both cores for itself, ${name}`,
      gateway: '',
      ratio: room,
      target: '≥ 1.7 ×',
      isMet: room >= 1.7,
    },
    {
      what: `callers and provider, CPU per request on the same cores, ${name}`,
      gateway: microseconds(median(of(two, 'rest'))),
      floor: microseconds(median(of(one, 'rest'))),
    },
    {
      what: `share of the busier worker, ${name}`,
      gateway: `${(median(of(two, 'busiest')) * 100).toFixed(0)} %`,
      target: '≤ 60 %',
      isMet: median(of(two, 'busiest')) <= 0.6,
    },
    { what: `memory in MB: parent + workers, ${name}`, gateway: memoryOf(two), floor: memoryOf(one) },
  ];
}

export default {
  name: 'workers',
  about: `requests as in plain, at ${connections} connections. gateway: two workers, on both cores; floor: one process, bound to one core. The callers and the provider take what they need of these cores too`,
  async measure() {
    if (availableParallelism() < 2) return [{ what: 'needs two cores', gateway: 'not measured' }];
    const provider = await startBenchProvider();
    const start = async (workers: number, plugins?: readonly string[]): Promise<Line> => {
      const gateway = await startBenchGateway({ upstream: provider.url, server: { workers }, ...(plugins && { plugins }) });
      if (workers === 1) pin(gateway);
      return lineTo(gateway);
    };
    const [one, two, oneBare, twoBare] = [await start(1), await start(2), await start(1, kernelPlugins), await start(2, kernelPlugins)];
    const lines = [one, two, oneBare, twoBare];
    await measureAll(lines, provider);
    const figures = [...figuresOf('everything on', one, two), ...figuresOf('the kernel alone', oneBare, twoBare)];
    for (const { gateway, callers } of lines) {
      for (const caller of callers) caller.end();
      await gateway.stop();
    }
    await provider.stop();
    return figures;
  },
} satisfies Subject;
