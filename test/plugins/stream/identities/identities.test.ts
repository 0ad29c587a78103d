/** Providers whose credentials are the identity of this machine: with the real libraries of the clouds, and endpoints on this machine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, type Asked, pause, type ScriptedUpstream, type Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';
import { type Cloud, type Clouds, type Given, machineAt, startClouds } from './clouds.ts';

let clouds: Clouds;
beforeAll(async () => {
  clouds = await startClouds();
});
afterEach(() => clouds.forget());
afterAll(() => clouds.close());

const prices = { prompt: '0.000001', completion: '0.000002' };
const models = [
  ['gemini', { providerId: 'vertex', externalId: 'gemini-2.5-flash' }],
  ['claude', { providerId: 'vertex', externalId: 'claude-sonnet-4-5@20250929', dialect: 'anthropic' }],
  ['nova', { providerId: 'bedrock', externalId: 'amazon.nova-lite-v1:0' }],
  ['gpt', { providerId: 'azure', externalId: 'gpt-4.1' }],
] as const;
const ofCloud: Readonly<Record<Cloud, string>> = { google: 'gemini', aws: 'nova', entra: 'gpt' };

/** Answers in the wire format of the request. */
const inItsForm: Step = (response, asked) => {
  const { url } = asked;
  const body = url.includes('/publishers/google/')
    ? { candidates: [{ content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP' }], usageMetadata: {} }
    : url.includes('/publishers/anthropic/')
      ? { content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } }
      : url.includes('/converse')
        ? {
            output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
            stopReason: 'end_turn',
            usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          }
        : completion('hello');
  return answers(body)(response, asked);
};

interface Scene {
  readonly gateway: TestGateway;
  readonly up: ScriptedUpstream;
  ask(model: string): Promise<Response>;
}

async function scene(config: (url: string) => Record<string, unknown> = () => ({})): Promise<Scene> {
  const up = await provider(inItsForm);
  const { url } = up;
  const gateway = await gatewayOf({
    providers: {
      vertex: { auth: 'google', project: 'p1', base_url: url },
      bedrock: { auth: 'aws', region: 'eu-west-1', base_url: url },
      azure: { auth: 'entra', base_url: url },
    },
    models: models.map(([id, mapping]) => ({ id, pricing: prices, providers: [{ ...mapping, streaming: true }] })),
    routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
    ...config(url),
  });
  return { gateway, up, ask: (model) => gateway.chat({ model }) };
}

/** The token that a request to a provider carries. */
const tokenOf = ({ headers }: Asked): string => String(headers['x-amz-security-token'] ?? headers['authorization']?.replace('Bearer ', ''));
const countOf = (cloud: Cloud): number => clouds.asked.filter((one) => one === cloud).length;

describe('a provider with an identity', () => {
  it('is asked with the token of its cloud, or with a signature', async () => {
    machineAt(clouds.origin);
    const { up, ask } = await scene();
    for (const [model] of models) expect([model, (await ask(model)).status]).toEqual([model, 200]);
    const [gemini, claude, nova, gpt] = up.asked as [Asked, Asked, Asked, Asked];
    expect([gemini, claude].map(({ url }) => url)).toEqual([
      '/v1/projects/p1/locations/global/publishers/google/models/gemini-2.5-flash:generateContent',
      '/v1/projects/p1/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
    ]);
    expect(
      [gemini, claude, gpt].map(({ headers }) => [
        headers['authorization']?.replace(/\d+$/, 'N'),
        headers['x-goog-api-key'],
        headers['x-api-key'],
        headers['api-key'],
      ]),
    ).toEqual([
      ['Bearer google-token-N', undefined, undefined, undefined],
      ['Bearer google-token-N', undefined, undefined, undefined],
      ['Bearer entra-token-N', undefined, undefined, undefined],
    ]);
    expect(nova.headers).toMatchObject({
      authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKID-aws-token-\d+\/\d+\/eu-west-1\/bedrock\//),
      'x-amz-security-token': expect.stringMatching(/^aws-token-\d+$/),
    });
    expect((['google', 'aws', 'entra'] as const).map(countOf)).toEqual([1, 1, 1]);
  });

  it('keeps its token out of the message of a refusal', async () => {
    machineAt(clouds.origin);
    const { up, ask } = await scene();
    up.script((response, asked) =>
      answers({ error: { code: 400, message: `bad token ${tokenOf(asked)}`, status: 'INVALID_ARGUMENT' } }, { status: 400 })(
        response,
        asked,
      ),
    );
    expect((await errorOf(await ask('gemini'))).message).toBe('bad token [redacted]');
    // each cloud is asked at the start; the test waits for that, so that the next test does not count it
    await expect.poll(() => clouds.given).toHaveLength(3);
  });

  it('asks its cloud once for all requests that wait for a token', async () => {
    machineAt(clouds.origin);
    clouds.mayAnswer = () => pause(100);
    const { ask } = await scene();
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, at) => ask(ofCloud[(['google', 'aws', 'entra'] as const)[at % 3] as Cloud])),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect((['google', 'aws', 'entra'] as const).map(countOf)).toEqual([1, 1, 1]);
  });

  // a pause of the machine may let a token that lives for seconds expire on its way
  it(
    'renews tokens under load before they expire: no request fails or has an expired token, and each cloud gets one request at a time',
    { retry: 3, timeout: 120_000 },
    async () => {
      machineAt(clouds.origin);
      const { up, ask } = await scene();
      const seen: { token: string; at: number }[] = [];
      up.script((response, asked) => (seen.push({ token: tokenOf(asked), at: Date.now() }), inItsForm(response, asked)));
      const until = Date.now() + 6000;
      const usesOf = (token: string | undefined): number => seen.filter((one) => one.token === token).length;
      // a cloud renews a token only after the previous one was used six times more, however slow the machine is
      const mayAnswer = async (cloud: Cloud): Promise<void> => {
        const before = clouds.given.findLast((one) => one.cloud === cloud)?.token;
        const enough = before === undefined ? 0 : usesOf(before) + 6;
        while (usesOf(before) < enough && Date.now() < until) await pause(5);
      };
      Object.assign(clouds, { seconds: 5, mayAnswer });
      const statuses = new Map<number, number>();
      const caller = async (model: string): Promise<void> => {
        await ask(model);
        while (Date.now() < until) {
          const { status } = await ask(model);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await pause(100);
        }
      };
      await Promise.all(Object.values(ofCloud).flatMap((model) => [caller(model), caller(model)]));
      expect([...statuses.keys()]).toEqual([200]);
      const expiry = new Map(clouds.given.map(({ token, expiresAt }) => [token, expiresAt]));
      expect(seen.filter(({ token, at }) => at >= (expiry.get(token) ?? 0))).toEqual([]);
      for (const cloud of ['google', 'aws', 'entra'] as const) {
        const given = clouds.given.filter((one) => one.cloud === cloud);
        // each token lives for 4 to 5 s and is renewed halfway
        expect([2, 3, 4], cloud).toContain(given.length);
        expect(
          seen.some(({ token }) => token === given[1]?.token),
          cloud,
        ).toBe(true);
        // while the cloud is asked, requests use the previous token
        const [before, { askedAt, givenAt }] = given as [Given, Given];
        expect(seen.filter(({ at, token }) => at > askedAt && at < givenAt && token === before.token).length, cloud).toBeGreaterThan(3);
      }
      expect(clouds.most).toBe(1);
    },
  );
});

describe('a broken identity', () => {
  const withSpare = (url: string): Record<string, unknown> => ({
    providers: {
      vertex: { auth: 'google', project: 'p1', base_url: url },
      spare: { dialect: 'openai-chat', base_url: url, api_key: 'spare-key' },
    },
    models: [
      {
        id: 'gemini',
        pricing: prices,
        providers: [models[0][1], { providerId: 'spare', externalId: 'spare-1' }].map((mapping) => ({ ...mapping, streaming: true })),
      },
    ],
  });

  it('is reported at start and in health, and its requests go to the next provider', async () => {
    machineAt(clouds.origin);
    clouds.isBroken = true;
    const { gateway, up, ask } = await scene(withSpare);
    await expect.poll(() => gateway.lines.join('\n')).toContain('gives no credentials');
    const told = gateway.lines.filter((line) => line.includes('gives no credentials'));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0] ?? '')).toMatchObject({
      level: 'error',
      auth: 'google',
      provider: 'vertex',
      error: expect.stringMatching(/\w/),
    });
    const health = (await (await gateway.get('/')).json()) as { health: Record<string, unknown> };
    expect(health.health).toMatchObject({ status: 'degraded', 'identity of vertex': { connected: false, error: 'no credentials' } });
    expect((await ask('gemini')).status).toBe(200);
    expect(up.asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer spare-key']);
    expect(gateway.records.at(-1)?.attempts.map(({ outcome }) => outcome)).toEqual(['upstream_auth_error', 'answered']);
  });

  it('is not in a health report that skips identities, and a working one is connected', async () => {
    machineAt(clouds.origin);
    const { gateway } = await scene();
    const healthOf = async (query: string): Promise<unknown> =>
      ((await (await gateway.get(`/${query}`)).json()) as { health: object }).health;
    expect(await healthOf('')).toMatchObject({
      status: 'ok',
      'identity of vertex': { connected: true },
      'identity of bedrock': { connected: true },
      'identity of azure': { connected: true },
    });
    expect(Object.keys((await healthOf('?skip=identity')) as object).some((name) => name.startsWith('identity'))).toBe(false);
  });

  it('gives 502 where no other provider is left, and shows nothing about the machine', async () => {
    machineAt(clouds.origin);
    clouds.isBroken = true;
    const { ask } = await scene();
    const reply = await ask('gemini');
    expect(reply.status).toBe(502);
    expect(await errorOf(reply)).toMatchObject({
      code: 'upstream_auth_error',
      message: 'The gateway has no credentials for the provider "vertex": the identity of its machine gives none.',
    });
  });

  it('names the npm command where the package cannot be loaded', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-plugin-'));
    const lacking = {
      name: 'lacking',
      baseUrl: 'http://127.0.0.1:9',
      identities: "{ machine: { package: 'vitest', fetch: () => import('a-package-that-nobody-has') } }",
    };
    writeFileSync(
      join(folder, 'lacking.mjs'),
      `export default { name: 'dialects/lacking', summary: 'a dialect whose package is gone', schema: { type: 'object', additionalProperties: false }, apply() {}, dialects: [{ name: '${lacking.name}', baseUrl: '${lacking.baseUrl}', encode() {}, decoder() {}, decodeBody() {}, decodeError() {}, identities: ${lacking.identities} }] };\n`,
    );
    const gateway = await gatewayOf({ providers: { lacking: { auth: 'machine' } }, models: [] }, { use: ['./lacking.mjs'], from: folder });
    rmSync(folder, { recursive: true });
    await expect.poll(() => gateway.lines.join('\n')).toContain('the npm package vitest is not installed; run: npm install vitest');
  });
});
