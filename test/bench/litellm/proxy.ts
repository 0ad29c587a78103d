/** LiteLLM's proxy as its users start it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pause } from '../../_kit/upstream.ts';
import { freePort } from '../../_kit/servers.ts';

export interface Litellm {
  readonly url: string;
  stop(): Promise<void>;
}

const patienceMs = 120_000;

/** Starts LiteLLM with `config.yaml` of the folder, without its price list download and its telemetry. */
export async function startLitellm(command: string, folder: string): Promise<Litellm> {
  const port = await freePort();
  const child = spawn(
    command,
    ['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const until = Date.now() + patienceMs;
  while (
    !(await fetch(`${url}/health/liveliness`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || Date.now() > until) {
      child.kill('SIGKILL');
      throw new Error(`LiteLLM does not serve\n${output.slice(-2000)}`);
    }
    await pause(200);
  }
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
