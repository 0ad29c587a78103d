/** Processes under measurement: started with their output in a file, asked what they cost through /proc, ended with SIGTERM. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Started {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly name: string;
  readonly args: readonly string[];
  /** Options of Node itself: a profiler, say. */
  readonly nodeOptions?: readonly string[];
}

/** All that one run writes, gone at its end. */
export const workFolder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));

const alive = new Set<ChildProcess>();
let started = 0;

process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
  rmSync(workFolder, { recursive: true, force: true });
});

export const fileBeside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a program and waits for its `listening` line. Its output goes to a file, so that reading it costs nobody anything. */
export async function startProcess({ name, args, nodeOptions = [] }: StartOptions): Promise<Started> {
  const log = join(workFolder, `${name}-${++started}.log`);
  const output = openSync(log, 'w');
  const child = spawn(process.execPath, [...nodeOptions, ...args], { stdio: ['ignore', output, output] });
  closeSync(output);
  alive.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      alive.delete(child);
      resolve();
    });
  });
  const url = await listening(child, log);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(late);
  };
  return { name, url, pid: child.pid as number, stop };
}

async function listening(child: ChildProcess, log: string): Promise<string> {
  for (;;) {
    const text = readFileSync(log, 'utf8');
    const url = /"msg":"listening","url":"([^"]+)"/.exec(text)?.[1];
    if (url !== undefined) return url;
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}:\n${text}`);
    await wait(2);
  }
}

const clockTickMs = 10;

/** CPU time that a process has used, all its threads together, in milliseconds; its own clock's where there is no /proc. */
export function cpuMsOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    // in nanoseconds, where `stat` counts in ticks of 10 ms
    return threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6, 0);
  } catch {
    return ticksOf(pid) * clockTickMs;
  }
}

function ticksOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    // no Linux: wall time has to do
    return performance.now() / clockTickMs;
  }
}

/** Resident memory in megabytes; null where there is no /proc. */
export function residentMbOf(pid: number): number | null {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return null;
  }
}
