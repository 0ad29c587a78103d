/** The small parts of the core: errors, secrets, suggestions, the process log. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { errorTable, GatewayError } from '../../core/errors.ts';
import { messageOf } from '../../core/exit.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import { Secret, withoutSecrets } from '../../core/secret.ts';
import { didYouMean, suggest } from '../../core/names.ts';

const copyOfErrors: string = '../../core/errors.ts?copy';

describe('an error', () => {
  const types = new Set([
    'invalid_request_error',
    'permission_error',
    'rate_limit_error',
    'upstream_error',
    'insufficient_quota',
    'server_error',
  ]);

  it.each(Object.entries(errorTable))('%s has a code in snake case, a status, and a known type', (code, [status, type]) => {
    expect(code).toMatch(/^[a-z]+(_[a-z0-9]+)+$/);
    expect(status >= 400 && status < 600 && types.has(type)).toBe(true);
  });

  it.each(Object.entries(errorTable))(
    '%s may be retried at another provider only where the provider is at fault',
    (code, [status, , retryable]) => {
      if (retryable !== undefined) expect([code.startsWith('upstream_'), status >= 500 || status === 429]).toEqual([true, true]);
    },
  );

  it('is recognised from another copy of the module', async () => {
    const copy = (await import(copyOfErrors)) as { GatewayError: typeof GatewayError };
    const error = new copy.GatewayError('permission_denied', 'no');
    expect([copy.GatewayError === GatewayError, error instanceof GatewayError, GatewayError.is(error)]).toEqual([false, false, true]);
  });

  it.each([null, undefined, 'text', 5, new Error('x'), { code: 'permission_denied' }])('is not recognised in %s', (value) =>
    expect(GatewayError.is(value)).toBe(false),
  );

  it('does not show its cause', () => {
    const error = GatewayError.from(new Error('password is hunter2'), 'r1');
    expect(error.body()).toEqual({
      error: { message: 'Internal error. Request id r1.', type: 'server_error', param: null, code: 'internal_error' },
    });
    expect((error.cause as Error).message).toContain('hunter2');
  });

  it('has no half of a character where the text of a caller is cut', () => {
    const error = new GatewayError('invalid_value', 'There is no "😀'.slice(0, -1), { param: 'metadata.😀'.slice(0, -1) });
    expect(JSON.stringify(error.body())).toBe(
      JSON.stringify({
        error: { message: 'There is no "\ufffd', type: 'invalid_request_error', param: 'metadata.\ufffd', code: 'invalid_value' },
      }),
    );
  });

  it('keeps the code and type of a provider', () => {
    const error = new GatewayError({ status: 422, type: 'odd_error', code: 'odd' }, 'Odd.', { param: 'messages' });
    expect([error.status, error.retryable, error.body()]).toEqual([
      422,
      false,
      { error: { message: 'Odd.', type: 'odd_error', param: 'messages', code: 'odd' } },
    ]);
  });

  it.each<[ErrorCode, boolean]>([
    ['upstream_auth_error', true],
    ['plugin_error', true],
    ['upstream_error', false],
    ['upstream_rate_limited', false],
  ])('%s is final: %s', (code, wanted) => expect(new GatewayError(code, '').isFinal).toBe(wanted));
});

describe('the message of what was thrown', () => {
  it.each([
    ['an error', new Error('broken'), 'broken'],
    ['a text', 'broken', 'broken'],
    ['nothing', undefined, 'undefined'],
    // Node throws this where a name has two addresses and none of them answers
    [
      'an error of several addresses',
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]),
      '::1 refused; 127.0.0.1 refused',
    ],
  ])('says why: %s', (_, thrown, message) => expect(messageOf(thrown)).toBe(message));
});

describe('a secret', () => {
  const secret = new Secret('hunter2');

  it.each<[string, () => string]>([
    ['a template', () => `a ${secret as unknown as string}`],
    ['JSON', () => JSON.stringify({ secret })],
    ['inspect', () => inspect({ secret }, { depth: null, showHidden: true })],
    ['String()', () => String(secret)],
    ['joining', () => [secret].join()],
    ['concatenation', () => 'a' + (secret as unknown as string)],
    ['the keys of the object', () => JSON.stringify([Object.entries(secret), Object.getOwnPropertyNames(secret)])],
    ['a copy of it', () => JSON.stringify(Object.assign({}, secret))],
    [
      'a log line',
      () => {
        let line = '';
        createLogger((text) => void (line = text)).info('x', { secret, inside: [{ secret }] });
        return line;
      },
    ],
    ['an error about it', () => inspect(new Error('x', { cause: secret }))],
  ])('does not show in %s', (_, show) => expect(show()).not.toContain('hunter2'));

  it.each(['bob:hunter2@db', 'redis//bob:hunter2@db:6379', 'postgres://bob:hun/hunter2@db/x'])(
    'does not show in the address %s, which is written wrongly',
    (url) => expect(withoutSecrets({ url })).toEqual({ url: '[redacted]' }),
  );

  it('is shown by reveal() alone', () => expect(secret.reveal()).toBe('hunter2'));
});

describe('a suggestion', () => {
  it.each<[string, string[], string[]]>([
    ['gpt5', ['gpt-5', 'gpt-4o'], ['gpt-5']],
    ['GPT-5', ['gpt-5'], ['gpt-5']],
    ['claude-sonet-4', ['claude-sonnet-4', 'claude-opus-4'], ['claude-sonnet-4', 'claude-opus-4']],
    ['x', ['gpt-5'], []],
    ['', ['gpt-5'], []],
    ['gpt-5', [], []],
    ['apiKey', ['api_key', 'api_keys'], ['api_key', 'api_keys']],
    ['tset', ['test', 'best'], ['test']],
    ['retention', ['retention_days', 'bodies'], ['retention_days']],
    ['claude', ['claude-opus-4', 'claude-sonnet-4'], []],
  ])('for %j among %j is %j', (word, known, wanted) => expect(suggest(word, known)).toEqual(wanted));

  it('is at most two, the nearest first', () => expect(suggest('abcdef', ['abcdxx', 'abcdex', 'abcdef1', 'zzzzzz'])).toHaveLength(2));
  it('reads as a question', () => expect(didYouMean('helo', ['hello'])).toBe(' Did you mean "hello"?'));
  it('is empty where no word is similar', () => expect(didYouMean('helo', ['goodbye'])).toBe(''));
  it('looks at the first hundred letters of a word, because a caller may send millions', () =>
    expect(suggest('x'.repeat(5_000_000), ['x'.repeat(100)])).toEqual(['x'.repeat(100)]));
});

const line = (message: string, facts: object): string => {
  let text = '';
  createLogger((one) => void (text = one), { plugin: 'a/b' }).error(message, facts as Record<string, unknown>);
  return text;
};

describe('the process log', () => {
  it('is one JSON line with its labels', () =>
    expect(JSON.parse(line('hello', { a: 1 }))).toMatchObject({
      time: expect.any(String),
      level: 'error',
      msg: 'hello',
      plugin: 'a/b',
      a: 1,
    }));
  it.each(['a\nb', 'a\u001b[31mb', 'a\u0000b', 'a\rb', 'a\u009b31mb', 'a\u007fb', 'a\u202eb', 'a\u{e0041}b'])('escapes %j', (text) => {
    const written = line(text, { [text]: text });
    expect(written).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(written)).toMatchObject({ msg: text, [text]: text });
  });
  it('writes an error with its cause and its place', () =>
    expect(line('x', { error: new TypeError('outer', { cause: new Error('inner') }) })).toMatch(
      /TypeError: outer \(Error: inner at .*small\.test\.ts/,
    ));
  it.each<[string, () => unknown]>([
    ['JSON', () => JSON.parse('{') as unknown],
    ['a module of Node', () => new URL('no address')],
    ['a module of Node, which is imported', () => readFileSync('/no/such/file')],
  ])('writes the place in the code that called it, where an error comes from %s', (_, failing) => {
    let error: unknown;
    try {
      failing();
    } catch (thrown) {
      error = thrown;
    }
    expect((JSON.parse(line('x', { error })) as { error: string }).error).toMatch(/ at [^<>]*small\.test\.ts[^<>]*:\d+:\d+\)?$/);
  });
  it.each<[string, unknown]>([
    ['a big integer', 5n],
    ['a function', () => {}],
    ['a map', new Map()],
    ['a symbol', Symbol('x')],
  ])('survives %s', (_, value) => expect(() => JSON.parse(line('x', { value })) as unknown).not.toThrow());
  it('survives an error that cannot be read', () => {
    const error = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('not to be read');
      },
    });
    expect(JSON.parse(line('x', { error }))).toMatchObject({ msg: 'x', error: 'a value that cannot be read' });
  });
  it('shows a symbol that was thrown', () =>
    expect(JSON.parse(line('x', { error: Symbol('lost') }))).toMatchObject({ error: 'Symbol(lost)' }));
  it('hides a secret where the facts are not plain JSON', () =>
    expect(line('x', { big: 5n, nested: { key: new Secret('hunter2') } })).not.toContain('hunter2'));
});

describe('the sources', () => {
  it('of the pipeline import no bare hook of tapable', () => {
    expect(readFileSync(new URL('../../core/pipeline/pipeline.ts', import.meta.url), 'utf8')).not.toContain("from 'tapable'");
  });
});
