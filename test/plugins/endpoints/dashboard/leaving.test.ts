/** A browser that leaves a page while the store is busy: the store gets none of the reads that still wait for their turn. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { readCalls } from '../../../../plugins/log/journal/drain/rpc.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';

interface Ask {
  readonly call: string;
}

test.each([
  '/api/views/overview?since=24h',
  '/api/views/breakdown?by=key&bucket=60000',
  '/api/views/spend?',
  '/api/models',
  '/api/stats?since=24h',
  '/api/series?since=24h',
  '/api/facets',
  '/api/metadata-keys',
])('%s', async (path) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-leaving-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const starting = new Promise<Worker>((resolve) => void process.once('worker', resolve));
  const gateway = await testGateway({
    config: oneUpstream('http://127.0.0.1:9/v1', {
      server: { data_dir: folder },
      plugins: ['endpoints/logs', 'endpoints/dashboard', 'log/journal', 'dialects/openai-chat'],
    }),
  });
  onTestFinished(() => gateway.close());
  const thread = await starting;
  const post = thread.postMessage.bind(thread);
  const reads: Ask[] = [];
  let isBusy = true;
  thread.postMessage = (ask: Ask) => {
    const isRead = (readCalls as readonly string[]).includes(ask.call);
    if (isRead) reads.push(ask);
    if (!isRead || !isBusy) post(ask);
  };

  const first = gateway.get('/api/logs?limit=1');
  await expect.poll(() => reads.length).toBe(1);
  const client = new AbortController();
  const left = expect(gateway.ask(path, { signal: client.signal })).rejects.toThrow();
  await gateway.get('/api/status');
  client.abort();
  await left;
  // the gateway has seen the end of that connection when a later request has its answer
  await gateway.get('/api/status');
  isBusy = false;
  for (const ask of reads.slice()) post(ask);
  expect((await first).status).toBe(200);
  expect((await gateway.get('/api/logs?limit=1')).status).toBe(200);
  expect(reads.map(({ call }) => call)).toEqual(['list', 'list']);
  expect(gateway.lines).toEqual([]);
});
