/** Processes that are measured: started with their output in a file, their cost read from /proc, ended with SIGTERM. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Started {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
  /** Resolves when the later work of the requests is done: their records are in the store. */
  drained?(): Promise<void>;
}

export interface StartOptions {
  readonly name: string;
  readonly args: readonly string[];
  /** Options of Node itself, for example of a profiler. */
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The folder for all files of one run, deleted at its end. */
export const workFolder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));

const alive = new Set<ChildProcess>();
let started = 0;

process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
  rmSync(workFolder, { recursive: true, force: true });
});

export const fileBeside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a program and waits for its `listening` line. Its output goes to a file, so that no process spends time on reading it. */
export async function startProcess({ name, args, nodeOptions = [], env = {} }: StartOptions): Promise<Started> {
  const log = join(workFolder, `${name}-${++started}.log`);
  const output = openSync(log, 'w');
  const child = spawn(process.execPath, [...nodeOptions, ...args], { stdio: ['ignore', output, output], env: { ...process.env, ...env } });
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

/** The CPU time of all threads of a process and its children, in milliseconds; without /proc, the wall time. */
export function cpuMsOf(pid: number): number {
  try {
    return familyOf(pid).reduce((sum, one) => sum + [...cpuByThread(one).values()].reduce((all, ms) => all + ms, 0), 0);
  } catch {
    return ticksOf(pid) * clockTickMs;
  }
}

/**
 * The CPU time of the threads of a process by their names, in milliseconds.
 * V8Worker collects garbage and compiles, WorkerThread is the thread of the store.
 */
export function cpuByThread(pid: number): Map<string, number> {
  const byName = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const name = readFileSync(`${folder}/comm`, 'utf8').trim();
    // schedstat counts in nanoseconds, and `stat` in ticks of 10 ms
    byName.set(name, (byName.get(name) ?? 0) + Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1e6);
  }
  return byName;
}

/** The process and its children. */
export function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter((one) => one !== ''),
  );
  return [pid, ...children.flatMap((child) => familyOf(Number(child)))];
}

/** The number of read and write system calls so far. */
export const systemCallsOf = (pid: number): number =>
  Array.from(readFileSync(`/proc/${pid}/io`, 'utf8').matchAll(/^sysc[rw]: (\d+)/gm), ([, count]) => Number(count)).reduce(
    (a, b) => a + b,
    0,
  );

/** The size of all files in a folder and below it, in bytes. */
export const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (sum, file) => sum + (file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0),
    0,
  );

function ticksOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    // not Linux: the wall time is used
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
