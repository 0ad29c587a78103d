/** The gateway as its users start it: the executable, a config file, a port. */
import { spawn } from 'node:child_process';
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { closeAtEndOfFile } from './left-open.ts';
import { pause } from './upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const node = join(root, 'node_modules/.bin/node');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where and how the executable runs. `main`: its file; absent: that of this checkout. */
export interface Place {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly main?: string;
  /** A command that starts the executable: its words come before the words of the executable. */
  readonly by?: readonly string[];
  /** The file descriptors of the process, from 3 on. */
  readonly descriptors?: readonly number[];
}

/** Runs a command to its end. */
export async function run(args: readonly string[], place: Place = {}): Promise<Ended> {
  const { child, output, ended } = launch(args, place);
  const timer = setTimeout(() => child.kill('SIGKILL'), 200_000);
  const code = await ended;
  clearTimeout(timer);
  return { code, ...output() };
}

/**
 * A module that kills its process when its stdin closes. The kernel closes stdin when the test process ends in any way, so no
 * gateway outlives its test.
 */
const endsWithParent = `data:text/javascript,${encodeURIComponent(`
  import { isMainThread } from 'node:worker_threads';
  if (isMainThread) process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume().unref();
`)}`;

/**
 * For `by`: a shell keeps stdin open when the first process ends, so that the next process lives on. Node waits for the end of
 * stdin, not `cat`: a process that starts later makes this stdin non-blocking for all of them, and then `cat` fails.
 */
export const underShell: readonly string[] = ['sh', '-c', '"$@"; exec "$1" -e "process.stdin.resume()"', 'sh'];

/** Starts the executable and does not wait. `ended` gives its exit code; null: a signal ended it. */
export function launch(
  args: readonly string[],
  { cwd = root, env = {}, main = join(root, 'core/main.ts'), by = [], descriptors = [] }: Place,
): { child: ChildProcess; output: () => { stdout: string; stderr: string }; ended: Promise<number | null> } {
  const [program = '', ...words] = [
    ...by,
    node,
    '--import',
    pathToFileURL(join(root, 'core/compile-cache.mjs')).href,
    '--import',
    endsWithParent,
    main,
    ...args,
  ];
  const child = spawn(program, words, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors],
  }) as ChildProcessWithoutNullStreams;
  child.once('close', closeAtEndOfFile({ close: () => child.kill('SIGKILL') }));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes) => (stdout += bytes));
  child.stderr.on('data', (bytes) => (stderr += bytes));
  return { child, output: () => ({ stdout, stderr }), ended: new Promise((resolve) => child.once('close', resolve)) };
}

/** A config with one model, `mock`, that answers without a network. @param pricing dollars for a token */
export const mockConfig = (
  pricing = { prompt: '0.000001', completion: '0.000002' },
): { readonly providers: object; readonly models: object[] } => ({
  providers: { mock: { dialect: 'mock' } },
  models: [{ id: 'mock', pricing, providers: [{ providerId: 'mock', externalId: 'mock' }] }],
});

export interface Running {
  readonly url: string;
  readonly port: number;
  /** The config file. */
  readonly file: string;
  readonly child: ChildProcess;
  output(): { stdout: string; stderr: string };
  write(config: object | string): void;
  /** Exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the executable on a free port; resolves when it prints that it listens. `folder`: the folder of the config; absent: a new one. */
export async function start(
  config: object | string,
  env: Record<string, string> = {},
  { folder: given, ...place }: { folder?: string } & Pick<Place, 'main' | 'by' | 'descriptors'> = {},
): Promise<Running> {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
  const file = join(folder, 'gateway.config.yaml');
  const write = (next: object | string): void => writeFileSync(file, typeof next === 'string' ? next : JSON.stringify(next, null, 2));
  write(config);
  const { child, output, ended } = launch(['start', '--config', file, '--port', '0'], { env, ...place });
  let url: string | undefined;
  while (url === undefined) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}\n${output().stdout}${output().stderr}`);
    await pause(10);
    url = /"url":"([^"]+)"/.exec(output().stdout)?.[1];
  }
  return {
    url,
    port: Number(new URL(url).port),
    file,
    child,
    output,
    write,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null) child.kill(signal);
      const code = await ended;
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

async function* slowly(parts: readonly string[], everyMs: number): AsyncGenerator<string> {
  for (const part of parts) {
    yield part;
    if (everyMs > 0) await pause(everyMs);
  }
}

/**
 * Writes raw bytes to a port, part by part, and returns everything that comes, until the other side closes. It reads between the parts: an
 * answer that comes before the last part is lost where a write fails first.
 */
export async function rawExchange(port: number, bytes: string | readonly string[], everyMs = 0): Promise<string> {
  return await new Promise((resolve, reject) => {
    let answer = '';
    const parts = Readable.from(slowly([bytes].flat(), everyMs));
    const socket = connect(port, '127.0.0.1', () => parts.pipe(socket, { end: false }));
    socket.on('data', (data) => (answer += data));
    socket.on('close', () => resolve(answer));
    socket.on('error', (error: NodeJS.ErrnoException) => (answer === '' ? reject(error) : undefined));
  });
}
