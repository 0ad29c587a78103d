import { describe, expect, it } from 'vitest';
import { addressOf, isLoopback } from '../../../core/wire/address.ts';
import { Secret } from '../../../core/secret.ts';

const dialect = { baseUrl: 'https://models.{region:-eu-west-1}.example.com/{project}' };

describe('the address of a provider', () => {
  it.each([
    ['has the settings in it', { region: 'us-west-2', project: 'p-1' }, 'https://models.us-west-2.example.com/p-1'],
    ['has the default of a setting that is not set', { project: 'p-1' }, 'https://models.eu-west-1.example.com/p-1'],
    ['has the default of a setting that is empty', { region: '', project: 'p-1' }, 'https://models.eu-west-1.example.com/p-1'],
    ['has nothing at the place of a setting without a default', {}, 'https://models.eu-west-1.example.com/'],
    ['never shows a secret', { project: new Secret('hidden') }, 'https://models.eu-west-1.example.com/'],
  ])('%s', (_, settings, wanted) => {
    expect(addressOf({ baseUrl: null, settings }, dialect)).toBe(wanted);
  });

  it('is the base_url of the entry, unchanged, where it has one', () => {
    expect(addressOf({ baseUrl: 'http://10.0.0.5/{region}', settings: { region: 'x' } }, dialect)).toBe('http://10.0.0.5/{region}');
  });

  it('is null where neither the entry nor the dialect has one', () => {
    expect(addressOf({ baseUrl: null, settings: {} }, { baseUrl: null })).toBeNull();
    expect(addressOf({ baseUrl: null, settings: {} }, undefined)).toBeNull();
  });
});

describe('a loopback address', () => {
  it.each(['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1', '[::FFFF:127.0.0.1]'])(
    'is %s',
    (host) => expect(isLoopback(host)).toBe(true),
  );
  it.each([
    '127.evil.com',
    '127.0.0.1.evil.com',
    '::ffff:127.evil.com',
    '[::ffff:127.evil.com]',
    '::ffff:10.0.0.1',
    '0.0.0.0',
    'localhost.evil.com',
    '',
  ])('is not %j', (host) => expect(isLoopback(host)).toBe(false));
});
