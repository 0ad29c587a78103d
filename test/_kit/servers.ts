/** Real servers for the tests, started from the binaries of the machine; as root on Debian, missing programs are installed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeAtEndOfFile } from './left-open.ts';
import { pause } from './upstream.ts';

/** A free port below those that the kernel assigns, so that no other program gets it from the kernel before it is used. */
export async function freePort(): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 20_000);
  const isFree = await new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
  return isFree === true ? port : await freePort();
}

/** Returns the path of a program, and installs it where it is missing, under a lock, because test files run at the same time. */
export function ensureProgram(paths: readonly string[], debianPackage: string): string {
  const find = (): string | undefined => paths.find((path) => existsSync(path));
  const found = find();
  if (found !== undefined) return found;
  const script = `command -v ${paths[0]} >/dev/null || { apt-get update -q; DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends ${debianPackage}; }`;
  execFileSync('flock', [join(tmpdir(), 'model-gateway-apt.lock'), 'sh', '-c', script], { stdio: 'ignore' });
  const installed = find();
  if (installed === undefined) throw new Error(`${paths[0]} is missing; install the package ${debianPackage}`);
  return installed;
}

/**
 * Returns the path of a headless browser, and installs it where it is
 * missing. Full chromium works too, and takes a fifth more CPU for a page.
 */
export const ensureBrowser = (): string =>
  ensureProgram(['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'], 'chromium-headless-shell');

/**
 * The command line of a server that gets the signal when this process has ended, also where
 * this process was killed and could stop nothing. Only Linux has `setpriv`.
 */
const endsWithUs = (signal: 'KILL' | 'QUIT', program: string, words: readonly string[]): [string, string[]] =>
  existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', ['--pdeathsig', signal, program, ...words]] : [program, [...words]];

export interface RedisServer {
  readonly url: string;
  /** SIGSTOP: connections open, answers do not come. */
  freeze(): void;
  thaw(): void;
  /** FLUSHALL */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisSettings {
  /** More arguments of its command line. */
  readonly words?: readonly string[];
  /** Makes it a Sentinel of the primary at this port of the machine. */
  readonly sentinelOf?: number;
}

/** @param at the port; absent: any free port */
export async function startRedis(at?: number, { words = [], sentinelOf }: RedisSettings = {}): Promise<RedisServer> {
  const program = ensureProgram(['/usr/bin/redis-server'], 'redis-server');
  const port = at ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), 'gateway-redis-'));
  const file = join(folder, 'sentinel.conf');
  if (sentinelOf !== undefined) {
    writeFileSync(
      file,
      `sentinel monitor main 127.0.0.1 ${sentinelOf} 1\nsentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n`,
    );
  }
  const kind = sentinelOf !== undefined ? [file, '--sentinel'] : ['--save', '', '--appendonly', 'no'];
  const all = [...kind, '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...words];
  const child = spawn(...endsWithUs('KILL', program, all), { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    isStopped();
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const isStopped = closeAtEndOfFile({ close: stop });
  await reachable(port, child);
  return {
    url: `redis://127.0.0.1:${port}`,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    flush: () =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.write('FLUSHALL\r\n'));
        socket.once('data', () => {
          socket.destroy();
          resolve();
        });
      }),
    stop,
  };
}

export interface RedisCluster {
  /** Three primaries, and after them a replica of each. */
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

export async function startCluster(): Promise<RedisCluster> {
  const places = await Promise.all(Array.from({ length: 6 }, async () => ({ port: await freePort(), bus: await freePort() })));
  const words = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--repl-diskless-sync-delay', '0'];
  const nodes = await Promise.all(places.map(({ port, bus }) => startRedis(port, { words: [...words, '--cluster-port', String(bus)] })));
  const ask = (port: number, ...command: readonly string[]): string =>
    execFileSync('redis-cli', ['-p', String(port), ...command], { encoding: 'utf8' });
  ask(0, '--cluster', 'create', ...places.map(({ port, bus }) => `127.0.0.1:${port}@${bus}`), '--cluster-replicas', '1', '--cluster-yes');
  while (!places.every(({ port }) => ask(port, 'cluster', 'info').includes('cluster_state:ok'))) await pause(50);
  while (ask(places[0]?.port ?? 0, 'cluster', 'nodes').match(/\bslave\b/g)?.length !== 3) await pause(50);
  return { nodes, stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))) };
}

/** Resolves when something listens on the port. Throws where the process that is to listen there has ended. */
async function reachable(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await pause(50);
  }
  throw new Error(`nothing listens on port ${port}`);
}

const versions = '/usr/lib/postgresql';

/** The programs of the newest PostgreSQL on the machine, which Debian keeps out of the path. */
function postgresPrograms(): string {
  const found = existsSync(versions) ? readdirSync(versions).filter((version) => existsSync(join(versions, version, 'bin/initdb'))) : [];
  const newest = found.toSorted((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined) throw new Error('PostgreSQL is missing; install the package postgresql');
  return join(versions, newest, 'bin');
}

/** Installs PostgreSQL where it is missing. */
export function ensurePostgres(): void {
  ensureProgram(['/usr/bin/psql'], 'postgresql');
  postgresPrograms();
}

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** SIGSTOP: connections open, answers do not come. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL to all its processes. */
  kill(): Promise<void>;
  /** Starts the server again on the same data. */
  start(): Promise<void>;
  /** The address of a new, empty database of the server. */
  database(): string;
  psql(url: string, sql: string): string;
  stop(): Promise<void>;
}

/** A private cluster. PostgreSQL does not run as root: for root it runs as the user `postgres`. */
export async function startPostgres(): Promise<PostgresServer> {
  const programs = postgresPrograms();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  const asUser =
    process.getuid?.() === 0
      ? { uid: Number(execFileSync('id', ['-u', 'postgres'])), gid: Number(execFileSync('id', ['-g', 'postgres'])) }
      : {};
  if (asUser.uid !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  const files = join(folder, 'data');
  makeCluster(files, (into) =>
    execFileSync(join(programs, 'initdb'), ['-D', into, '-U', 'gateway', '-A', 'trust', '--no-sync', '-E', 'UTF8'], {
      ...asUser,
      cwd: folder,
      stdio: 'ignore',
    }),
  );
  // mmap: shared memory in a file of the cluster. Otherwise each killed cluster would leave 1 MB of shared memory on the machine
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'dynamic_shared_memory_type=mmap',
  ];
  let child: ChildProcess | null = null;
  let ended: Promise<void> = Promise.resolve();
  let databases = 0;

  const start = async (): Promise<void> => {
    const words = ['-D', files, ...settings.flatMap((setting) => ['-c', setting])];
    // SIGQUIT ends the backends too
    const started = spawn(...endsWithUs('QUIT', join(programs, 'postgres'), words), {
      ...asUser,
      cwd: folder,
      stdio: 'ignore',
      detached: true,
    });
    child = started;
    ended = new Promise((resolve) => started.once('exit', () => resolve()));
    while (started.exitCode === null) {
      if (answers(programs, port)) return;
      await pause(50);
    }
    throw new Error('PostgreSQL did not start');
  };
  /** Signals the server and its backends, and returns them. Each backend is a session leader, so they are found as children. */
  const signal = (name: NodeJS.Signals): readonly number[] => {
    const root = child?.pid;
    if (root === undefined) return [];
    // a stopped server starts no backend after they were listed
    send('SIGSTOP', root);
    const all = [root, ...processes('pid=', '--ppid', String(root)).map(Number)];
    for (const pid of all) send(name, pid);
    return all;
  };
  const kill = async (): Promise<void> => {
    const all = signal('SIGKILL');
    await ended;
    // while a backend lives, the server does not start again on the same data; a busy machine ends it later than the server
    while (processes('stat=', '-p', all.join()).some((state) => !state.startsWith('Z'))) await pause(20);
    rmSync(join(files, 'postmaster.pid'), { force: true });
  };
  const stop = async (): Promise<void> => {
    isStopped();
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const isStopped = closeAtEndOfFile({ close: stop });
  await start();
  const url = `postgres://gateway@127.0.0.1:${port}/postgres`;
  const psql = (address: string, sql: string): string =>
    execFileSync(join(programs, 'psql'), [address, '-Atqc', sql], { encoding: 'utf8' }).trim();
  return {
    url,
    port,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill,
    start,
    psql,
    database() {
      const name = `test_${++databases}`;
      psql(url, `create database ${name}`);
      return `postgres://gateway@127.0.0.1:${port}/${name}`;
    },
    stop,
  };
}

/** Signals a process, unless it has ended meanwhile. */
function send(name: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What `ps` says of processes, a line for each; it ends with 1 where there are none. */
const processes = (...words: readonly string[]): readonly string[] =>
  spawnSync('ps', ['-o', ...words], { encoding: 'utf8' })
    .stdout.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The files of an empty cluster. cost: initdb takes 1.7 s of CPU, and a copy of its files takes 0.1 s. */
function makeCluster(files: string, init: (into: string) => void): void {
  const shared = process.env['GATEWAY_TESTS_FOLDER'];
  if (shared === undefined) return init(files);
  const first = join(shared, 'postgres');
  const copy = (from: string, to: string): void => void execFileSync('cp', ['-a', from, to]);
  if (existsSync(first)) return copy(first, files);
  init(files);
  const own = join(shared, `postgres-${process.pid}`);
  copy(files, own);
  // two workers may be here at one time; rename does not replace a folder that has files
  try {
    renameSync(own, first);
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
}

function answers(programs: string, port: number): boolean {
  try {
    execFileSync(join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port), '-U', 'gateway'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
