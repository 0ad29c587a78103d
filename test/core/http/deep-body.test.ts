/** The deepest JSON that `server.limits.json_depth` can allow is served: parsed, checked, encoded for the provider and put on record. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../_kit/upstream.ts';

const most = 1000;

test('a body of the largest depth reaches the provider and the log, and a deeper one is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-deep-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const up = await startUpstream(answers(completion('Hello.')));
  onTestFinished(() => up.close());
  const gateway = await testGateway({
    config: oneUpstream(up.url, {
      server: { data_dir: folder, limits: { json_depth: most } },
      plugins: [...quietPlugins, 'log/journal'],
    }),
  });
  onTestFinished(() => gateway.close());
  const ask = async (levels: number): Promise<number> => {
    const deep = '{"items":'.repeat(levels) + '{}' + '}'.repeat(levels);
    const tool = `{"type":"function","function":{"name":"deep","parameters":${deep}}}`;
    const body = `{"model":"plain","messages":[{"role":"user","content":"hi"}],"tools":[${tool}]}`;
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
  };
  // four levels are around the parameters, and one is inside them
  expect([await ask(most - 5), await ask(most - 4)]).toEqual([200, 400]);
  const { data } = (await (await gateway.get('/api/logs?status=200')).json()) as { data: { id: string }[] };
  const record = await (await gateway.get(`/api/logs/${data[0]?.id}`)).text();
  // in the request, and in what was sent to the provider
  expect(record.match(/"items"/g)).toHaveLength(2 * (most - 5));
});
