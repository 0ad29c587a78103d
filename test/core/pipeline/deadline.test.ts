/** The total time of a request counts from its arrival, whatever the request waits for. */
import { describe, expect, it } from 'vitest';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion, hangs } from '../../_kit/upstream.ts';
import { exchangeBytes } from '../../_kit/wire.ts';
import { errorOf, gatewayOf, probe, provider, routing } from '../scene.ts';

const total = 600;
const key = 'a-key-of-the-test';

/** The bytes of a request whose body is incomplete. */
const unfinished = (length: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\n${length}\r\n\r\n`;

/** A gateway with `keys`, and a tap that hangs at a stage. */
const hanging = async (stage: 'auth' | 'normalise' | 'route' | 'open' | null) => {
  const taps = probe(({ hooks }) => {
    const { tapPromise } = hooks[stage ?? 'route'] as { tapPromise(options: object, fn: () => Promise<never>): void };
    if (stage !== null) tapPromise({ name: 'test/probe', stage: EARLY }, () => new Promise(() => {}));
  });
  return await gatewayOf(
    { ...oneUpstream((await provider(hangs)).url, routing({ total })), keys: [{ name: 'team', key }] },
    { plugins: [taps] },
  );
};

const known = { authorization: `Bearer ${key}` };

type Ask = (gateway: Awaited<ReturnType<typeof hanging>>) => Promise<number>;

const chat =
  (headers: Record<string, string> = {}): Ask =>
  async (gateway) =>
    (await gateway.chat({}, { ...known, ...headers })).status;
const raw =
  (text: string): Ask =>
  async ({ url }) =>
    (await exchangeBytes(url, { parts: [Buffer.from(text)], wanted: 1 })).replies[0]?.status ?? 0;

describe('the total time ends a request', () => {
  it.each<[string, Parameters<typeof hanging>[0], Ask, number]>([
    ['whose body does not come', null, raw(unfinished('content-length: 100')), 504],
    ['whose body comes in parts and stops', null, raw(`${unfinished('transfer-encoding: chunked')}2\r\n{"\r\n`), 504],
    ['while a plugin checks its key', 'auth', chat(), 500],
    ['while a plugin checks its key, for an unknown URL', 'auth', async ({ get }) => (await get('/nowhere', known)).status, 404],
    [
      'while a plugin checks its key, for a wrong method',
      'auth',
      async ({ ask }) => (await ask('/v1/chat/completions', { method: 'DELETE', headers: known })).status,
      405,
    ],
    ['while a plugin normalises it', 'normalise', chat(), 500],
    ['while a plugin routes it', 'route', chat(), 500],
    ['while a plugin routes it for an explanation', 'route', chat({ 'x-dry-run': 'true' }), 500],
    ['while a plugin opens its answer', 'open', chat(), 504],
    ['while its provider is silent', null, chat(), 504],
  ])('%s', async (_, stage, ask, status) => {
    const gateway = await hanging(stage);
    const startedAt = performance.now();
    expect(await ask(gateway)).toBe(status);
    expect(performance.now() - startedAt).toBeGreaterThan(total - 20);
    await expect.poll(() => gateway.gateway.running.size).toBe(0);
    expect(gateway.records).toHaveLength(1);
  });
});

describe('a plugin that hangs at open', () => {
  const opening = (tap: () => Promise<undefined>) => probe(({ hooks }) => hooks.open.tapPromise({ name: 'test/probe', stage: EARLY }, tap));
  const never = opening(() => new Promise(() => {}));
  const told = async (timeouts: Record<string, number>, more: Record<string, unknown> = {}, plugin = never) => {
    const { chat, records } = await gatewayOf(
      { ...oneUpstream((await provider(hangs)).url, routing(timeouts, more)) },
      { plugins: [plugin] },
    );
    const response = await chat({});
    await expect.poll(() => records.length).toBe(1);
    return [response.status, (await errorOf(response)).message, records[0]?.error?.plugin, records[0]?.attempts.map(({ error }) => error)];
  };

  it.each([null, 5000])('is named at the limit of the first byte, with hedge_ms: %s', async (hedge_ms) => {
    const message = 'The plugin "test/probe" did not answer at "open" within 0.3 s, and asked no provider.';
    expect(await told({ first_byte: 300 }, hedge_ms === null ? {} : { hedge_ms })).toEqual([504, message, 'test/probe', [message]]);
  });

  it('is named at the end of the total time', async () => {
    const message = 'The plugin "test/probe" did not answer at "open" within the 0.3 s of the request.';
    expect(await told({ total: 300 })).toEqual([504, message, 'test/probe', [message]]);
  });

  it.each([
    ['first_byte', 'The provider did not begin to answer within 0.3 s.'],
    ['total', 'The request took longer than 0.3 s.'],
  ])('is not named where it has answered, and the provider is silent until %s', async (limit, message) => {
    expect(
      await told(
        { [limit]: 300 },
        {},
        opening(async () => undefined),
      ),
    ).toEqual([504, message, 'stream/upstream', [message]]);
  });
});

it('the total time of a policy replaces a shorter one of the default', async () => {
  const up = await provider((...asked) => void setTimeout(() => void answers(completion('late'))(...asked), 900));
  const times = { default: { timeout_ms: { total: 400 } }, models: { plain: { timeout_ms: { total: 60_000 } } } };
  const { chat } = await gatewayOf(oneUpstream(up.url, { routing: times }));
  expect((await chat({})).status).toBe(200);
});
