/** metadata/headers: X-Gateway-* as metadata, bounded, never an error. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withHeaders } from '../../../plugins/metadata/headers.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const limits = { max_entries: 32, max_length: 256 };
const read = (headers: Record<string, string>, key: Record<string, string> = {}): Record<string, string> => ({ ...withHeaders(key, headers, limits).metadata });

describe('metadata/headers', () => {
  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['takes what follows the prefix', { 'x-gateway-user-id': 'u1' }, { 'user-id': 'u1' }],
    ['leaves other headers alone', { 'x-gatewayuser': 'no', 'x-other': 'no', authorization: 'no' }, {}],
    ['leaves the bare prefix alone', { 'x-gateway-': 'no' }, {}],
    ['keeps an empty value', { 'x-gateway-a': '' }, { a: '' }],
    ['keeps the prefix inside a name', { 'x-gateway-x-gateway-a': '1' }, { 'x-gateway-a': '1' }],
  ])('%s', (_, headers, wanted) => expect(read(headers)).toEqual(wanted));

  it('takes __proto__ for a name like any other', () => {
    const { metadata } = withHeaders({}, { 'x-gateway-__proto__': 'x', 'x-gateway-constructor': 'y' }, limits);
    expect(Object.entries(metadata)).toEqual([['__proto__', 'x'], ['constructor', 'y']]);
    expect(({} as Record<string, unknown>)['x']).toBe(undefined);
  });

  it('gives the same object back where there is nothing', () => {
    const key = { team: 'search' };
    expect(withHeaders(key, {}, limits).metadata).toBe(key);
  });

  it('keeps within its limits whatever comes, and says when it cut', () => {
    const headers = fc.dictionary(fc.string({ maxLength: 300 }).map((name) => `x-gateway-${name}`), fc.string({ maxLength: 400 }), { maxKeys: 50 });
    fc.assert(
      fc.property(headers, (sent) => {
        const { metadata, isCut } = withHeaders({}, sent, limits);
        const entries = Object.entries(metadata);
        expect(entries.length).toBeLessThanOrEqual(32);
        for (const [name, value] of entries) expect(Math.max(name.length, value.length)).toBeLessThanOrEqual(256);
        const named = Object.entries(sent).filter(([name]) => name.length > 'x-gateway-'.length);
        expect(isCut).toBe(named.length > 32 || named.some(([name, value]) => name.length > 266 || value.length > 256));
      }),
    );
  });

  it('flags a cut in the record and answers all the same', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    expect((await chat({}, { 'x-gateway-long': 'x'.repeat(300) })).status).toBe(200);
    expect(records[0]?.metadata['long']).toHaveLength(256);
    expect(records[0]?.adjustments).toEqual([{ parameter: 'metadata', change: 'cut to 32 entries of 256 characters' }]);
  });

  it('takes its limits from the config', async () => {
    const plugins = quietPlugins.map((use) => (use === 'metadata/headers' ? { use, with: { max_entries: 1, max_length: 3 } } : use));
    const { chat, records } = await gatewayOf({ ...oneUpstream((await provider()).url), plugins });
    await chat({}, { 'x-gateway-a': '12345', 'x-gateway-b': '1' });
    expect({ ...records[0]?.metadata }).toEqual({ a: '123' });
  });
});
