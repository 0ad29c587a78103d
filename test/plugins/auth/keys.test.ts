/** auth/keys: who is recognised, and which models a key may use. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../_kit/gateway.ts';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';

const key = 'sk-team-0123456789';
const bearer = { authorization: `Bearer ${key}` };

const withKeys = async (...keys: object[]) => {
  const up = await provider();
  return await gatewayOf({ ...oneUpstream(up.url), keys });
};

describe('auth/keys', () => {
  it('is open where there are no keys, whatever is sent', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    expect([(await chat({})).status, (await chat({}, bearer)).status, records.map((record) => record.key)]).toEqual([200, 200, [null, null]]);
  });

  it('recognises a key by its hash', async () => {
    const { chat, records } = await withKeys({ name: 'team', hash: `sha256:${createHash('sha256').update(key).digest('hex')}` });
    expect([(await chat({}, bearer)).status, records[0]?.key]).toEqual([200, 'team']);
  });

  it('tells keys apart', async () => {
    const { chat, records } = await withKeys({ name: 'a', key: 'key-of-a-0123456789' }, { name: 'b', key: 'key-of-b-0123456789' });
    await chat({}, { 'x-api-key': 'key-of-b-0123456789' });
    expect(records[0]?.key).toBe('b');
  });

  it('adds the metadata of the key, under that of the request', async () => {
    const { chat, records } = await withKeys({ name: 'team', key, metadata: { team: 'search', tenant: 'default' } });
    await chat({}, { ...bearer, 'x-gateway-tenant': 'acme' });
    expect({ ...records[0]?.metadata }).toEqual({ team: 'search', tenant: 'acme' });
  });

  it.each<[string, string[], string, number]>([
    ['an id', ['plain'], 'plain', 200],
    ['an id', ['plain'], 'thinker', 403],
    ['a pattern', ['think*'], 'thinker-2025', 200],
    ['a pattern with a dot in it', ['th.nker'], 'thinker', 403],
    ['an alias', ['thinker-2025'], 'thinker-2025', 200],
    ['everything', ['*'], 'budgeted', 200],
    ['an address with its provider', ['up/plain'], 'up/plain', 200],
  ])('lists %s: %j for %s gives %d', async (_, models, model, status) => {
    const { chat } = await withKeys({ name: 'team', key, models });
    expect((await chat({ model }, bearer)).status).toBe(status);
  });

  it('refuses before the provider is asked, and does not repeat a long name', async () => {
    const up = await provider();
    const { chat } = await gatewayOf({ ...oneUpstream(up.url), keys: [{ name: 'team', key, models: ['plain'] }] });
    expect((await errorOf(await chat({ model: 'thinker' }, bearer))).code).toBe('model_not_allowed');
    expect(up.asked).toEqual([]);
  });

  it('prints no key', async () => {
    const { chat, lines, records } = await withKeys({ name: 'team', key });
    await chat({}, bearer);
    await chat({}, { authorization: 'Bearer sk-wrong-9876543210' });
    expect([lines.join(''), JSON.stringify(records)].join('')).not.toMatch(/sk-team|sk-wrong/);
  });
});
