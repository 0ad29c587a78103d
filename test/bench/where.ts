/** How the time of a plain request is spent: by thread, by plugin, by part of the source code. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { median, microseconds } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider } from './gateway.ts';
import { lineTo, run } from './load.ts';
import type { Line } from './load.ts';
import { cpuByThread, systemCallsOf, workFolder } from './processes.ts';
import { mainProfileIn, partOf, profilerOptions } from './profile.ts';
import type { Profile } from './profile.ts';
import { adminHeaders, requestFor } from './workload.ts';

const connections = 32;
const requests = 20_000;
const load = { connections, requests, bodies: [requestFor('plain')] };

const threadNames: Readonly<Record<string, string>> = {
  MainThread: 'main thread',
  V8Worker: 'garbage collection and compiler threads',
  WorkerThread: 'thread of the store',
  'libuv-worker': 'file system threads',
};

async function byThread(line: Line): Promise<Figure[]> {
  const { pid } = line.process;
  const before = { threads: cpuByThread(pid), calls: systemCallsOf(pid) };
  await run(line, load);
  const after = cpuByThread(pid);
  const figures = Object.entries(threadNames).map(([name, what]): Figure => ({
    what,
    gateway: microseconds(((after.get(name) ?? 0) - (before.threads.get(name) ?? 0)) / requests),
  }));
  return [
    ...figures,
    { what: 'reads and writes of the kernel', gateway: `${((systemCallsOf(pid) - before.calls) / requests).toFixed(1)} a request` },
  ];
}

/** Seconds by plugin, from the gateway's own metrics. */
async function pluginSeconds(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: adminHeaders })).text();
  return new Map(
    Array.from(text.matchAll(/^gateway_plugin_seconds_total\{plugin="([^"]+)"\} (\S+)$/gm), ([, plugin = '', seconds]) => [
      plugin,
      Number(seconds),
    ]),
  );
}

async function byPlugin(line: Line): Promise<Figure[]> {
  const before = await pluginSeconds(line.process.url);
  await run(line, load);
  const spent = Array.from(await pluginSeconds(line.process.url), ([plugin, seconds]): [string, number] => [
    plugin,
    ((seconds - (before.get(plugin) ?? 0)) * 1000) / requests,
  ]);
  return spent
    .sort(([, a], [, b]) => b - a)
    .map(([plugin, ms]) => ({ what: `requests waited for plugin ${plugin}`, gateway: microseconds(ms) }));
}

/** The own time of each part, in milliseconds, without the time that the thread slept. */
function ownTimes({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const parts = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [at, sample] of samples.entries()) {
    const part = parts.get(sample) as string;
    if (part !== 'idle') times.set(part, (times.get(part) ?? 0) + (timeDeltas[at] ?? 0) / 1000);
  }
  return times;
}

async function byRoom(upstream: string): Promise<Figure[]> {
  const folder = join(workFolder, 'profiles');
  mkdirSync(folder);
  const line = lineTo(await startBenchGateway({ upstream, nodeOptions: profilerOptions(folder) }), connections);
  await run(line, load);
  await line.pool.close();
  await line.process.stop();
  const main = ownTimes(mainProfileIn(folder));
  const all = [...main.values()].reduce((a, b) => a + b, 0);
  return Array.from(main)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 25)
    .map(([part, ms]) => ({ what: `main thread in ${part}`, gateway: microseconds(ms / requests), ratio: ms / all }));
}

function jsonOnce(): Figure {
  const [text] = load.bodies as [string];
  const times = Array.from({ length: 9 }, () => {
    const startedAt = performance.now();
    for (let at = 0; at < 2000; at++) JSON.stringify(JSON.parse(text));
    return (performance.now() - startedAt) / 2000;
  });
  return { what: 'JSON: the request read and written once', gateway: microseconds(median(times)) };
}

export default {
  name: 'where',
  about: `where the time of a plain request goes, every shipped plugin on, at ${connections} connections; ratio: the share of the main thread`,
  async measure() {
    const provider = await startBenchProvider();
    const line = lineTo(await startBenchGateway({ upstream: provider.url }), connections);
    await run(line, load);
    const figures = [...(await byThread(line)), ...(await byPlugin(line)), jsonOnce()];
    await line.pool.close();
    await line.process.stop();
    const rooms = await byRoom(provider.url);
    await provider.stop();
    return [...figures, ...rooms];
  },
} satisfies Subject;
