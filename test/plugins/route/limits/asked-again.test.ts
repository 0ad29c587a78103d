/** A target that is asked a second time while Redis has not yet answered for the first. */
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { AttemptResult, Streaming } from '../../../../core/pipeline/context.ts';
import { Admission } from '../../../../plugins/route/limits/admission.ts';
import type { AdmissionParts } from '../../../../plugins/route/limits/admission.ts';
import { testGateway, twoUpstreams } from '../../../_kit/gateway.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { startRedis } from '../../../_kit/servers.ts';
import { answers, completion, event, pause, startUpstream } from '../../../_kit/upstream.ts';

// the gateway waits 300 ms for Redis: where a pause of the machine makes Redis late, the target is let in without it
test.each([5, 1])(
  'a target that is outrun while Redis is slow, and asked again because the faster target failed, holds one of %i places, and none at the end',
  { retry: 3 },
  async (concurrent) => {
    const server = await startRedis();
    const proxy = await proxyTo(server.url);
    const admin = new Redis(server.url);
    const monitor = await admin.monitor();
    const [one, two] = [await startUpstream(answers(completion('one'))), await startUpstream(answers(completion('two')))];
    const routing = { default: { strategy: 'ordered', hedge_ms: 60, retry: { same_target: 0 } } };
    const gateway = await testGateway({
      config: twoUpstreams(one.url, two.url, {
        routing,
        limits: [{ by: 'provider', match: 'two', concurrent }],
        redis: { url: proxy.url },
      }),
    });
    onTestFinished(async () => {
      await gateway.close();
      await Promise.all([one, two, proxy].map((each) => each.close()));
      for (const client of [admin, monitor]) client.disconnect();
      await server.stop();
    });
    // Redis knows the scripts from here on
    one.script(answers({ error: { message: 'no' } }, { status: 500 }));
    expect((await gateway.chat({})).status).toBe(200);
    const used = async (): Promise<unknown> =>
      ((await (await gateway.get('/api/limits')).json()) as { data: { used: number }[] }).data[0]?.used;
    await expect.poll(used).toBe(0);
    proxy.delayMs = 220;
    const askedForTwo = new Promise<void>((resolve) =>
      monitor.on(
        'monitor',
        (_time: string, words: readonly string[]) => void (words.some((word) => word.includes('provider two')) && resolve()),
      ),
    );
    one.script(async (response) => {
      await askedForTwo;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ role: 'assistant', content: 'o' }));
      await pause(20);
      response.socket?.resetAndDestroy();
    });
    expect((await gateway.chat({})).status).toBe(200);
    expect(gateway.records[1]?.attempts.map(({ provider, outcome }) => [provider, outcome])).toEqual([
      ['two', 'outrun'],
      ['one', 'upstream_truncated'],
      ['two', 'answered'],
    ]);
    proxy.delayMs = 0;
    await expect.poll(used).toBe(0);
  },
);

test.each([0, 1, 2, 3, 4, 5])('a target that is asked again %i turns after the answer of Redis is counted once', async (turns) => {
  const { promise: verdict, resolve } = Promise.withResolvers<void>();
  const held = new Set<object>();
  const hold = async (): Promise<unknown> => {
    await verdict;
    const one = { subjects: [{}] };
    held.add(one);
    return { refusal: null, hold: one, levels: [] };
  };
  const subject = { caps: { tokens: null, budgets: [] } };
  const parts = {
    ledger: { reserve: hold, settle: (one: object) => void held.delete(one) },
    rules: { hasTargets: true, ofCandidate: () => [subject] },
    sums: {},
    clock: Date.now,
  };
  const admission = new Admission(parts as unknown as AdmissionParts);
  const context = { request: {}, attempt: { candidate: { target: 'two', answeredBy: null, dropped: null } } } as unknown as Streaming;
  const first = admission.open(context);
  admission.attempted({ outcome: 'outrun' } as AttemptResult, context);
  resolve();
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  await Promise.all([first, admission.open(context)]);
  expect(held.size).toBe(1);
});
