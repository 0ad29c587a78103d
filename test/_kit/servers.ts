/** Real servers for the tests, started privately from the machine's binaries; as root on Debian what is missing is installed. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from './upstream.ts';

export async function freePort(): Promise<number> {
  return await new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/** Makes sure of a program; installing takes a lock, as test files run side by side. */
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

export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
  const program = ensureProgram(['/usr/bin/redis-server'], 'redis-server');
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-redis-'));
  const child = spawn(program, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await reachable(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when something listens on the port. */
export async function reachable(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
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
