/**
 * Which gateways serve with a data directory: each keeps
 * `<data_dir>/running/<machine>-<process id>.json` as long as it takes new connections.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../log/folder.ts';

/** A process that refused to follow another one. */
interface Refused {
  /** How many have refused so far, this one included. */
  readonly count: number;
  /** The exit code for this refusal. */
  readonly code: number;
  readonly reason: string;
}

/** A gateway that serves. */
export interface RunningProcess {
  readonly pid: number;
  /** When the process began, in the format of the operating system: a later process may get the same id. */
  readonly born: string;
  /** The config file. */
  readonly config: string;
  readonly url: string;
  /** The id of the process that this one replaced; null: none. */
  readonly follows: number | null;
  /** The last process that was to replace this one, and refused; null: none. */
  readonly refused: Refused | null;
}

// safety: several containers may share the directory, and a process id of another container means nothing here
const prefix = `${hostname().replaceAll(/[^\w.-]/g, '_')}-`;
export const folderOf = (dataDir: string): string => join(dataDir, 'running');

/** When the process with this id began; null: there is none. */
function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the name of the program is in brackets and may hold spaces; the start time is the 20th value after it
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    // cost: where /proc exists, a process that is not in it has ended. Asking
    // ps as well would add 50 ms to a start, for each file of a killed process
    return existsSync('/proc/self/stat') ? null : birthByPs(pid);
  }
}

/** For systems without /proc. */
function birthByPs(pid: number): string | null {
  try {
    const found = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return found.trim() || null;
  } catch {
    return null;
  }
}

const isAlive = ({ pid, born }: RunningProcess): boolean => birthOf(pid) === born;

/**
 * How often the process checks its file: a disk may be full for a while, a
 * reload may name another data directory, and somebody may delete the file.
 */
const lookMs = 2000;

const fileIn = (dataDir: string): string => join(folderOf(dataDir), `${prefix}${process.pid}.json`);

/** The file of this process. While the data directory cannot be written there is none, and `gateway restart` does not find the process. */
export class RunningFile {
  readonly #dataDir: () => string;
  readonly #timer: NodeJS.Timeout;
  #file: string;
  #content: RunningProcess;

  /** @param dataDir gives the data directory of the config that is used now */
  constructor(dataDir: () => string, facts: Pick<RunningProcess, 'config' | 'url' | 'follows'>) {
    this.#dataDir = dataDir;
    this.#file = fileIn(dataDir());
    this.#content = { ...facts, pid: process.pid, born: birthOf(process.pid) ?? '', refused: null };
    runningWith(dataDir(), forget);
    this.#write();
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  refuse(refused: Omit<Refused, 'count'>): void {
    this.#content = { ...this.#content, refused: { ...refused, count: (this.#content.refused?.count ?? 0) + 1 } };
    this.#write();
  }

  remove(): void {
    clearInterval(this.#timer);
    forget(this.#file);
  }

  #look(): void {
    const file = fileIn(this.#dataDir());
    if (file !== this.#file) forget(this.#file);
    this.#file = file;
    if (!existsSync(file)) this.#write();
  }

  #write(): void {
    const next = `${this.#file}.next`;
    try {
      makeFolder(join(this.#file, '..'));
      writeFileSync(next, `${JSON.stringify(this.#content)}\n`, { mode: 0o600 });
      renameSync(next, this.#file);
    } catch {
      // the gateway serves without this file too
      forget(next);
    }
  }
}

function forget(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // the directory may be read-only by now
  }
}

/** The gateways of this machine that serve with this data directory. @param dead called with the file of each that was killed */
export function runningWith(dataDir: string, dead: (file: string) => void = () => {}): RunningProcess[] {
  const folder = folderOf(dataDir);
  return namesIn(folder).flatMap((name) => {
    const file = join(folder, name);
    const found = read(file);
    if (found === null) return [];
    if (isAlive(found)) return [found];
    dead(file);
    return [];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith(prefix) && name.endsWith('.json'));
  } catch {
    return [];
  }
}

/** Null: the file was removed a moment ago, or is not ours. */
function read(file: string): RunningProcess | null {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8')) as Partial<RunningProcess>;
    return Number.isSafeInteger(found.pid) && typeof found.born === 'string' ? (found as RunningProcess) : null;
  } catch {
    return null;
  }
}
