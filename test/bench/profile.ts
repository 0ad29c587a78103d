/** CPU profiles as Node writes them, and the part of the source code to which a function belongs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
}

export interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

export interface Profile {
  readonly nodes: readonly ProfileNode[];
  /** The start, in microseconds of the monotonic clock of `process.hrtime`. */
  readonly startTime: number;
  /** The node id of each sample. */
  readonly samples: readonly number[];
  /** The time before each sample, in microseconds. */
  readonly timeDeltas: readonly number[];
}

/** The options with which Node writes a profile of each thread into a folder. */
export const profilerOptions = (folder: string): string[] => ['--cpu-prof', `--cpu-prof-dir=${folder}`];

/** The profile of the main thread: the name of its file has thread 0. */
export function mainProfileIn(folder: string): Profile {
  const file = readdirSync(folder).find((name) => /\.0\.\d+\.cpuprofile$/.test(name));
  if (file === undefined) throw new Error(`There is no profile of a main thread in ${folder}.`);
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile;
}

const root = new URL('../../', import.meta.url).href;

/** The path from the root of the repository, or from the package; never a path of this machine. */
export function fileOf({ url }: CallFrame): string {
  if (url === '' || url.startsWith('node:')) return url;
  if (url.startsWith('wasm:')) return 'WebAssembly';
  if (url.includes('/node_modules/')) return url.replace(/.*\/node_modules\//, '');
  return url.startsWith(root) ? url.slice(root.length) : url.replace(/.*\//, '');
}

export function partOf(frame: CallFrame): string {
  const { functionName, url } = frame;
  if (url === '') return functionName.startsWith('(') ? functionName.slice(1, -1) : 'native code of Node (sockets, JSON, text)';
  if (url.startsWith('node:')) return 'JavaScript of Node';
  const file = fileOf(frame);
  if (url.includes('/node_modules/')) return `package ${/^(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? 'other'}`;
  return /^(?:core|plugins)\/[\w-]+(?:\/[\w-]+)?/.exec(file)?.[0] ?? 'package other';
}
