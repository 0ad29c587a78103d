/** How commands ask a gateway of this machine that hangs: it accepts connections and does not answer. */
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { askGateway } from '../../../core/cli/ask-running.ts';
import { certificate } from '../../_kit/certificate.ts';

async function serve(scheme: 'http' | 'https', listener: RequestListener): Promise<string> {
  const server = scheme === 'http' ? createServer(listener) : createTlsServer(certificate('DNS:one.example'), listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each(['http', 'https'] as const)('a command does not wait for ever for a gateway that hangs: %s', async (scheme) => {
  const url = await serve(scheme, () => {});
  await expect(askGateway({ url, pid: 4711, adminKey: null, patienceMs: 50 }, '/api/targets', {})).rejects.toMatchObject({
    code: 5,
    message: `The gateway at ${url} (process 4711) does not answer: it has said nothing for 0.05 s`,
  });
});

test.each(['http', 'https'] as const)('an answer that has begun may take its time: %s', { retry: 2 }, async (scheme) => {
  // on a machine that stands still the answer begins too late
  const url = await serve(scheme, (_, answer) => {
    answer.write('one ');
    setTimeout(() => answer.end('two'), 2500);
  });
  const answer = await askGateway({ url, pid: 4711, adminKey: null, patienceMs: 2000 }, '/api/targets', {});
  expect(await answer.text()).toBe('one two');
});
