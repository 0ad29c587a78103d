/** The requests to providers: each attempt's request as it was sent, without credentials, if bodies are kept. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { quietPlugins, testGateway, twoUpstreams } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { startPostgres } from '../../../_kit/servers.ts';
import type { PostgresServer } from '../../../_kit/servers.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

let server: PostgresServer;
let [first, second] = [] as ScriptedUpstream[];
beforeAll(async () => {
  server = await startPostgres();
  [first, second] = [
    await startUpstream(answers({ error: { message: 'broken' } }, { status: 500 })),
    await startUpstream(answers(completion('Hello.'))),
  ];
});
afterAll(async () => {
  await Promise.all([server.stop(), first?.close(), second?.close()]);
});

const long = 'A prompt of some length, so that it pays to say only where it is. '.repeat(20);

test.each(['sqlite', 'postgres'])('the record has the request that was sent, in %s', async (store) => {
  const place = folder();
  const base = twoUpstreams(first?.url ?? '', second?.url ?? '') as { providers: Record<string, object> };
  const providers = Object.fromEntries(
    Object.entries(base.providers).map(([id, entry]) => [
      id,
      { ...entry, api_key: 'sk-hidden-key', headers: { 'x-team': 'hidden-team', 'x-api-token': 'hidden-token' } },
    ]),
  );
  const config = {
    ...base,
    providers,
    server: { data_dir: place.path },
    plugins: [...quietPlugins, { use: 'log/journal', with: { store, ...(store === 'postgres' && { url: server.database() }) } }],
  };
  const gateway: TestGateway = await testGateway({ config });
  const detail = async (response: Response): Promise<any> => {
    await response.text();
    const read = (): Promise<Response> => gateway.get(`/api/logs/${response.headers.get('x-request-id')}`);
    await expect.poll(async () => (await read()).status).toBe(200);
    return await (await read()).json();
  };
  const { upstream, attempts, request } = await detail(
    await gateway.chat({ messages: [{ role: 'user', content: long }], temperature: 0.5, seed: 7 }),
  );
  expect(attempts).toHaveLength(2);
  expect(upstream).toEqual(
    [first, second].map((one, at) => ({
      attempt: at + 1,
      method: 'POST',
      url: `${one?.url}/chat/completions`,
      headers: {
        'user-agent': expect.stringContaining('model-gateway'),
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'x-team': '[redacted]',
      },
      body: one?.asked[0]?.json,
    })),
  );
  expect(request.messages[0].content).toBe(long);
  expect(JSON.stringify(upstream)).not.toContain('hidden');
  expect(await detail(await gateway.chat({}, { 'x-log-bodies': 'off' }))).toMatchObject({ upstream: null, request: null });
  expect(await detail(await gateway.chat({ model: 'nothing' }))).toMatchObject({ upstream: null, status: 404 });
  expect(JSON.stringify(await (await gateway.get('/api/logs?q=include_usage')).json())).toContain('"data":[]');
  await gateway.close();
  place.remove();
  for (const one of [first, second]) one?.asked.splice(0);
});
