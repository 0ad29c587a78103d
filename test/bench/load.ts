/** Load, and its cost for the process that served it. */
import { Pool } from 'undici';
import { cpuMsOf } from './processes.ts';
import type { Started } from './processes.ts';
import { headers, path as chatPath } from './workload.ts';

export interface Load {
  readonly connections: number;
  readonly requests: number;
  /** The bodies of the requests, used in turn. */
  readonly bodies: readonly string[];
  /** The path of the requests; absent: that of chat completions. */
  readonly path?: string;
}

export interface Cost {
  /** The CPU time of all threads, with the later work of the requests: storing their records. */
  readonly cpuMsPerRequest: number;
  /** The requests a second during the load. */
  readonly requestsPerSecond: number;
}

/** A process under load and the connections to it, which all rounds share. */
export interface Line {
  readonly process: Started;
  readonly pool: Pool;
}

export const lineTo = (process: Started, connections: number): Line => ({
  process,
  pool: new Pool(process.url, { connections, pipelining: 1 }),
});

/** Sends one request and reads its answer to the end. Returns the number of bytes. */
export async function ask({ process, pool }: Line, body: string, path = chatPath): Promise<number> {
  const answer = await pool.request({ method: 'POST', path, headers, body });
  let size = 0;
  for await (const part of answer.body as AsyncIterable<Buffer>) size += part.length;
  if (answer.statusCode !== 200 || size === 0) throw new Error(`${process.name} answered ${answer.statusCode} with ${size} bytes`);
  return size;
}

export async function run(line: Line, { connections, requests, bodies, path }: Load): Promise<Cost> {
  let sent = 0;
  const work = async (): Promise<void> => {
    while (sent < requests) await ask(line, bodies[sent++ % bodies.length] as string, path);
  };
  const cpuBefore = cpuMsOf(line.process.pid);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, work));
  const seconds = (performance.now() - startedAt) / 1000;
  return { cpuMsPerRequest: (cpuMsOf(line.process.pid) - cpuBefore) / requests, requestsPerSecond: requests / seconds };
}

/** With every plugin on, V8 compiles until some 70,000 requests are served. */
export const requestsToWarmUp = 80_000;

export interface Comparison {
  readonly warmUp: number;
  readonly rounds: number;
  /** The load for all lines, or one for each line. */
  readonly load: Load | readonly Load[];
  /**
   * Whether a line stores the records of a round before the next line takes its turn, which its drain
   * would slow down. Asking whether they are stored costs some milliseconds, so a round must be long.
   */
  readonly drainsEachRound?: boolean;
}

/** Adds to each round its part of the CPU time between and after the rounds, when the log is stored. */
function withRest(costs: readonly Cost[], { requests, usedMs }: { readonly requests: number; readonly usedMs: number }): Cost[] {
  const between = usedMs / (costs.length * requests) - costs.reduce((sum, { cpuMsPerRequest }) => sum + cpuMsPerRequest, 0) / costs.length;
  return costs.map((cost) => ({ ...cost, cpuMsPerRequest: cost.cpuMsPerRequest + between }));
}

/** The cost of each round, by line. The lines take turns, so that other work of the machine affects all of them in the same way. */
export async function compare(lines: readonly Line[], { warmUp, rounds, load, drainsEachRound = false }: Comparison): Promise<Cost[][]> {
  const loads = lines.map((_, at) => (Array.isArray(load) ? (load as Load[])[at] : load) as Load);
  const costs = lines.map((): Cost[] => []);
  for (const [at, line] of lines.entries()) {
    await run(line, { ...(loads[at] as Load), requests: warmUp });
    await line.process.drained?.();
  }
  const before = lines.map(({ process }) => cpuMsOf(process.pid));
  for (let round = 0; round < rounds; round++) {
    for (const [at, line] of lines.entries()) {
      costs[at]?.push(await run(line, loads[at] as Load));
      if (drainsEachRound) await line.process.drained?.();
    }
  }
  return await Promise.all(
    lines.map(async ({ process }, at) => {
      await process.drained?.();
      return withRest(costs[at] as Cost[], {
        requests: (loads[at] as Load).requests,
        usedMs: cpuMsOf(process.pid) - (before[at] as number),
      });
    }),
  );
}

export const cpuOf = (costs: readonly Cost[]): number[] => costs.map(({ cpuMsPerRequest }) => cpuMsPerRequest);

export const rateOf = (costs: readonly Cost[]): number[] => costs.map(({ requestsPerSecond }) => requestsPerSecond);

export async function closeAll(lines: readonly Line[]): Promise<void> {
  for (const { pool, process } of lines) {
    await pool.close();
    await process.stop();
  }
}
