/** `gateway restart` of a gateway that hangs: its file is there, and it ignores the signal. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { restart, restartSignal } from '../../../core/cli/restart.ts';
import { RunningFile } from '../../../core/cli/running-files.ts';
import { folder } from '../../plugins/log/journal/scene.ts';

const config = '/etc/gateway.config.yaml';
const remedy = `See its output; if it hangs, run kill -9 ${process.pid} and start it again.`;

/** Registers this process as the gateway; it ignores the signal for a restart. */
function runAt(url: string): string {
  const files = folder();
  const file = new RunningFile(() => files.path, { config, url, follows: null });
  const ignore = (): void => {};
  process.on(restartSignal, ignore);
  onTestFinished(() => {
    process.off(restartSignal, ignore);
    file.remove();
    files.remove();
  });
  return files.path;
}

const restarted = (dataDir: string, patienceMs: number): Promise<void> =>
  restart({ dataDir, config, pid: null }, { print: () => {}, say: () => {} }, { silenceMs: 100, patienceMs });

test('gateway restart says that the gateway does not answer, its address and what to do', async () => {
  const dataDir = runAt('http://127.0.0.1:1');
  await expect(restarted(dataDir, Infinity)).rejects.toMatchObject({
    code: 5,
    message: `The gateway at http://127.0.0.1:1 does not answer, and process ${process.pid} does not report how its restart goes. ${remedy}`,
  });
});

test('gateway restart says that the gateway did not report the result, where its workers still answer', async () => {
  const server = createServer((_, answer) => void answer.end());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(restarted(runAt(url), 300)).rejects.toMatchObject({
    code: 5,
    message: `The gateway at ${url} did not report the result of its restart within 0.3 s; process ${process.pid} may still serve. ${remedy}`,
  });
});
