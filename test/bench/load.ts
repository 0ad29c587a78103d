/** Load, and what it cost the process that served it. */
import { Pool } from 'undici';
import { cpuMsOf } from './processes.ts';
import type { Started } from './processes.ts';
import { headers, path as chatPath } from './workload.ts';

export interface Load {
  readonly connections: number;
  readonly requests: number;
  /** The body of each request, in turn. */
  readonly bodies: readonly string[];
  /** Where they are sent; the path of chat completions where absent. */
  readonly path?: string;
}

export interface Cost {
  /** Of all threads, with the work that the requests left behind: their records on the way into the store. */
  readonly cpuMsPerRequest: number;
  /** While the load was on. */
  readonly requestsPerSecond: number;
}

/** A target and the connections to it, which are used again from round to round. */
export interface Line {
  readonly process: Started;
  readonly pool: Pool;
}

export const lineTo = (process: Started, connections: number): Line => ({ process, pool: new Pool(process.url, { connections, pipelining: 1 }) });

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

export interface Comparison {
  readonly warmUp: number;
  readonly rounds: number;
  /** For all lines, or for each its own. */
  readonly load: Load | readonly Load[];
}

/** Adds to each round its part of the CPU that was used between the rounds and after them: the log is stored then. */
function withRest(costs: readonly Cost[], { requests, usedMs }: { readonly requests: number; readonly usedMs: number }): Cost[] {
  const between = usedMs / (costs.length * requests) - costs.reduce((sum, { cpuMsPerRequest }) => sum + cpuMsPerRequest, 0) / costs.length;
  return costs.map((cost) => ({ ...cost, cpuMsPerRequest: cost.cpuMsPerRequest + between }));
}

/** What each round cost, by line. Rounds go in turn, so that whatever else the machine does falls on all of them alike. */
export async function compare(lines: readonly Line[], { warmUp, rounds, load }: Comparison): Promise<Cost[][]> {
  const loads = lines.map((_, at) => (Array.isArray(load) ? (load as Load[])[at] : load) as Load);
  const costs = lines.map((): Cost[] => []);
  for (const [at, line] of lines.entries()) {
    await run(line, { ...(loads[at] as Load), requests: warmUp });
    await line.process.drained?.();
  }
  const before = lines.map(({ process }) => cpuMsOf(process.pid));
  for (let round = 0; round < rounds; round++) {
    for (const [at, line] of lines.entries()) costs[at]?.push(await run(line, loads[at] as Load));
  }
  return await Promise.all(lines.map(async ({ process }, at) => {
    await process.drained?.();
    return withRest(costs[at] as Cost[], { requests: (loads[at] as Load).requests, usedMs: cpuMsOf(process.pid) - (before[at] as number) });
  }));
}

export const cpuOf = (costs: readonly Cost[]): number[] => costs.map(({ cpuMsPerRequest }) => cpuMsPerRequest);

export const rateOf = (costs: readonly Cost[]): number[] => costs.map(({ requestsPerSecond }) => requestsPerSecond);

export async function closeAll(lines: readonly Line[]): Promise<void> {
  for (const { pool, process } of lines) {
    await pool.close();
    await process.stop();
  }
}
