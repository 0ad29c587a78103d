import { describe, expect, test } from 'vitest';
import { answers, completion, pause, startUpstream } from '../_kit/upstream.ts';
import { withExample } from './scene.ts';

describe('webhook', () => {
  test('posts each failed request, and no other', async () => {
    const hook = await startUpstream(answers({}));
    const { gateway } = await withExample('webhook', {
      options: { url: hook.url },
      steps: [answers(completion('Fine.')), answers({ error: { message: 'Overloaded.' } }, { status: 503 })],
    });
    await gateway.chat({});
    await gateway.chat({}, { 'x-gateway-tenant-id': 'acme' });
    while (hook.asked.length === 0) await pause(5);
    expect(hook.asked.map(({ json }) => json)).toMatchObject([
      { model: 'plain', provider: 'up', status: 503, error: { code: 'upstream_unavailable' }, metadata: { 'tenant-id': 'acme' } },
    ]);
    await hook.close();
  });

  test('is reported in the health record when the address refuses a request', async () => {
    const hook = await startUpstream(answers({}, { status: 500 }));
    const { gateway } = await withExample('webhook', { options: { url: hook.url }, steps: [answers({}, { status: 503 })] });
    await gateway.chat({});
    const health = async (): Promise<any> => ((await (await gateway.get('/')).json()) as any).health;
    while ((await health()).status === 'ok') await pause(5);
    expect(await health()).toMatchObject({ status: 'degraded', webhook: { connected: false, error: 'answered 500' } });
    await hook.close();
  });

  test('delays no reply while its address hangs', async () => {
    const hook = await startUpstream(() => {});
    const { gateway } = await withExample('webhook', { options: { url: hook.url }, steps: [answers({}, { status: 503 })] });
    expect((await gateway.chat({})).status).toBe(503);
    expect(gateway.records).toHaveLength(1);
    expect(JSON.stringify(gateway.lines)).not.toContain('an observer is late');
    await hook.close();
  });

  test.each(['hooks.example/T000/secret-part', 'http://user:secret-part@hooks.example/'])(
    'shows the address %s nowhere when it cannot be used',
    async (url) => {
      const { gateway } = await withExample('webhook', { options: { url }, steps: [answers({}, { status: 503 })] });
      await gateway.chat({});
      while (!gateway.lines.some((line) => JSON.stringify(line).includes('webhook was not told'))) await pause(5);
      expect(JSON.stringify(gateway.lines)).not.toContain('secret-part');
    },
  );
});
