/** The changes of a reload, in words, without secrets. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../../core/config.ts';
import { changesOf } from '../../../../core/host/reloads/changes.ts';
import { lastReload, mergedReloads, reloads, tellReload } from '../../../../core/host/reloads/history.ts';
import { Secret } from '../../../../core/secret.ts';

afterEach(() => tellReload(null));

const configOf = (more: object = {}): Config =>
  ({ hash: 'x', server: { port: 4000 }, keys: [], providers: new Map(), models: [], plugins: [], ...more }) as unknown as Config;
const between = (before: object, after: object): unknown[] =>
  changesOf(configOf(before), configOf(after)).shown.map(({ path, before: was, after: is }) => [path, was, is]);
const key = (name: string, hash: string, more: object = {}): object => ({
  name,
  hashes: [{ hash, prefix: 'gwk_0', expiresAt: null }],
  writtenAt: `f:${hash.length}`,
  ...more,
});

describe('a change is listed', () => {
  test.each<[string, object, object, unknown[]]>([
    ['of a setting', { server: { port: 4000, tls: null } }, { server: { port: 4001, tls: null } }, [['server.port', '4000', '4001']]],
    [
      'of a model, by its id',
      {
        models: [
          { id: 'a', name: 'A' },
          { id: 'b', name: 'B' },
        ],
      },
      {
        models: [
          { id: 'b', name: 'Bee' },
          { id: 'a', name: 'A' },
        ],
      },
      [['models.b.name', '"B"', '"Bee"']],
    ],
    ['that was added', { models: [] }, { models: [{ id: 'a' }] }, [['models.a', null, '{"id":"a"}']]],
    [
      'that was removed',
      { providers: new Map([['up', { dialect: 'x' }]]) },
      { providers: new Map() },
      [['providers.up', '{"dialect":"x"}', null]],
    ],
    [
      'of a list of texts',
      { models: [{ id: 'a', aliases: ['b'] }] },
      { models: [{ id: 'a', aliases: ['b', 'c'] }] },
      [['models.a.aliases', '["b"]', '["b","c"]']],
    ],
    [
      'of a plugin that is listed twice',
      {
        plugins: [
          { use: 'p', with: { n: 1 } },
          { use: 'p', with: { n: 2 } },
        ],
      },
      {
        plugins: [
          { use: 'p', with: { n: 1 } },
          { use: 'p', with: { n: 3 } },
        ],
      },
      [['plugins.p#2.with.n', '2', '3']],
    ],
    [
      'of a mapping',
      { models: [{ id: 'a', providers: [{ providerId: 'p', externalId: 'm', weight: 1 }] }] },
      { models: [{ id: 'a', providers: [{ providerId: 'p', externalId: 'm', weight: 2 }] }] },
      [['models.a.providers.p/m.weight', '1', '2']],
    ],
    [
      'but not where only derived values differ',
      { hash: 'y', keys: [key('a', 'h1')] },
      { hash: 'z', keys: [key('a', 'h1', { writtenAt: 'elsewhere' })] },
      [],
    ],
  ])('%s', (_, before, after, told) => expect(between(before, after)).toEqual(told));

  test.each<[string, object, object, string]>([
    [
      'a key of a provider',
      { providers: new Map([['up', { apiKey: new Secret('topsecret1') }]]) },
      { providers: new Map([['up', { apiKey: new Secret('topsecret2') }]]) },
      'providers.up.apiKey',
    ],
    ["the hash of a caller's key", { keys: [key('a', 'topsecret1')] }, { keys: [key('a', 'topsecret2')] }, 'keys.a.key'],
    [
      'a header',
      { providers: new Map([['up', { headers: { 'x-team': 'topsecret1' } }]]) },
      { providers: new Map([['up', { headers: { 'x-team': 'topsecret2' } }]]) },
      'providers.up.headers.x-team',
    ],
    [
      'a password in an address',
      { plugins: [{ use: 'p', with: { store: 'postgres://u:topsecret1@h/d' } }] },
      { plugins: [{ use: 'p', with: { store: 'postgres://u:topsecret2@h/d' } }] },
      'plugins.p.with.store',
    ],
    ['a whole key that was added', { keys: [key('b', 'h')] }, { keys: [key('b', 'h'), key('a', 'topsecret2')] }, 'keys.a'],
    [
      'a whole provider that was added',
      { providers: new Map() },
      { providers: new Map([['up', { accounts: [new Secret('topsecret')], apiKey: new Secret('topsecret') }]]) },
      'providers.up',
    ],
  ])('without its secret: %s', (_, before, after, path) => {
    const { shown } = changesOf(configOf(before), configOf(after));
    expect(shown.map((one) => one.path)).toEqual([path]);
    expect(JSON.stringify(shown)).not.toContain('topsecret');
  });

  test('among 40 at most, each cut to one line', () => {
    const many = (name: string): object => ({ models: Array.from({ length: 60 }, (_, at) => ({ id: `m${at}`, name: name.repeat(500) })) });
    const { shown, more } = changesOf(configOf(many('a')), configOf(many('b')));
    expect([shown.length, more, shown[0]?.after?.length]).toEqual([40, 20, 160]);
  });
});

describe('the history of reloads', () => {
  test('has the newest 50, newest first, with refused reloads', () => {
    tellReload({ at: 1, problems: null }, { before: configOf(), after: configOf({ hash: 'new', server: { port: 1 } }) });
    tellReload({ at: 2, problems: 'a fault' });
    expect(reloads()).toMatchObject([
      { at: 2, hash: null, problems: 'a fault', changes: null },
      { at: 1, hash: 'new', changes: { shown: [{ path: 'server.port' }] } },
    ]);
    expect(lastReload()).toMatchObject({ at: 2 });
    for (let at = 3; at < 100; at++) tellReload({ at, problems: null });
    expect([reloads().length, reloads()[0]?.at]).toEqual([50, 99]);
  });

  test('has the reloads of all workers, each once', () => {
    const reload = (at: number) => ({ at, problems: null, hash: null, changes: null });
    expect(mergedReloads([[], [reload(2), reload(1)], [reload(3), reload(2)]]).map(({ at }) => at)).toEqual([3, 2, 1]);
  });
});
