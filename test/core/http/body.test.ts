/** Request bodies: the depth scan beside a simple recursive count, and what parsing refuses. bad-input.test.ts checks the limits end to end. */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { readBody } from '../../../core/http/body.ts';
import { isDeeper, objectIn, parseAnswer, parseJson } from '../../../core/wire/json.ts';
import { runs } from '../../_kit/fuzz.ts';

const depthOf = (value: unknown): number =>
  typeof value !== 'object' || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf));

describe('the depth scan', () => {
  it('agrees with a recursive count on any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), fc.nat(14), fc.constantFrom(undefined, 2), (value, limit, space) => {
        expect(isDeeper(Buffer.from(JSON.stringify(value, null, space)), limit)).toBe(depthOf(value) > limit);
      }),
      runs(1000),
    );
  });

  it('does not count brackets inside strings, however they are escaped', () => {
    const tricky = fc
      .array(fc.constantFrom('"', '\\', '[', '{', ']', '}', 'a', '\n', '\\"', 'a'.repeat(30)), { maxLength: 60 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(tricky, tricky, (key, text) => {
        expect(isDeeper(Buffer.from(JSON.stringify({ [key]: [text] })), 2)).toBe(false);
      }),
    );
  });

  it.each(['"', '"\\', '"[[[', '\\"[', ']]]]', ''])('ends on text that is no JSON: %j', (text) => {
    expect(isDeeper(Buffer.from(text), 2)).toBe(false);
  });
});

describe('parsing', () => {
  it('returns the value that was written', () => {
    const accepted = fc.jsonValue({ maxDepth: 5 }).filter((value) => value === null || !Object.hasOwn(Object(value), '__proto__'));
    fc.assert(
      fc.property(accepted, (value) => {
        expect(JSON.stringify(parseJson(Buffer.from(JSON.stringify(value)), 64))).toBe(JSON.stringify(JSON.parse(JSON.stringify(value))));
      }),
    );
  });

  it('refuses the key __proto__', () => {
    expect(() => parseJson(Buffer.from('{"a": 1, "__proto__": null}'), 64)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: '__proto__' }) as Error,
    );
  });

  it('refuses what is not JSON', () => {
    expect(() => parseJson(Buffer.from('{"a": x}'), 64)).toThrow(expect.objectContaining({ code: 'invalid_json' }) as Error);
  });

  it.each([
    ['{"a": 1e999}', 'a'],
    ['{"a": {"b": [0, {"c": -1e400}]}}', 'a.b[1].c'],
    ['[{"a": [5, 1.5E+400]}]', '[0].a[1]'],
    [`{"a": [1${'0'.repeat(400)}]}`, 'a[0]'],
    [`{"${'k'.repeat(10_000)}": 1e999}`, 'k'.repeat(256)],
  ])('refuses a number that JSON can only write as null: %s', (json, param) => {
    expect(() => parseJson(Buffer.from(json), 64)).toThrow(expect.objectContaining({ code: 'invalid_value', param }) as Error);
  });

  it('counts objects, members and arrays before it makes them', () => {
    const told: number[] = [];
    parseJson(Buffer.from('{"a":[{},[],"{[:{"],"b":{"c:":1}}'), 64, (parts) => void told.push(parts));
    expect(told).toEqual([8]);
    expect(() =>
      parseJson(Buffer.from('no JSON'), 64, () => {
        throw new GatewayError('request_too_large', '');
      }),
    ).toThrow(expect.objectContaining({ code: 'request_too_large' }) as Error);
  });

  it.each(['{"a": 1e308}', '{"a": -0.1e-999}', '{"a": "1e999"}'])('takes %s', (json) =>
    expect(parseJson(Buffer.from(json), 64)).toEqual(JSON.parse(json)),
  );
});

describe('the object in a text', () => {
  it.each(['{}', ' {"a":[1,{"b":null}]}', '{"text":"12345678901234567890"}'])('is %s', (text) =>
    expect(objectIn(text)).toEqual(JSON.parse(text)),
  );

  it.each(['', 'no', '[1]', '"{}"', '5', '{"half":', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`])('is null for %.20j', (text) =>
    expect(objectIn(text)).toBe(null),
  );

  it.each([
    '{"id":9007199254740993,"x":[0.12345678901234567891]}',
    '{"far":1e999}',
    '{"n":12345678901.123456789}',
    '{"n":-1234567.1234567890123}',
  ])('keeps all digits of %s', (text) => expect(JSON.stringify(objectIn(text))).toBe(text));
});

describe('a whole number of an answer', () => {
  it.each([
    '[9007199254740993]',
    '{"id":-9007199254740993}',
    '{"id": 1234567890123456789,"text":"1234567890123456"}',
    '[1,\n9007199254740993]',
  ])('keeps all digits from the first that a double cannot hold: %s', (text) =>
    expect(JSON.stringify(parseAnswer(text))).toBe(text.replaceAll(/[ \n]/g, '')),
  );
});

const read = (parts: string[], limit: number, announced?: string): Promise<Buffer> =>
  readBody(Readable.from(parts.map((part) => Buffer.from(part))), { limit, announced });

describe('reading', () => {
  it('joins the parts', async () => expect((await read(['ab', 'c'], 3)).toString()).toBe('abc'));
  it('returns no bytes for an empty body', async () => expect(await read([], 3)).toHaveLength(0));
  it('takes a body of exactly the limit', async () => expect(await read(['abc'], 3, '3')).toHaveLength(3));
  it('refuses one byte more', async () =>
    await expect(read(['ab', 'cd'], 3)).rejects.toMatchObject({ code: 'request_too_large', status: 413 }));
  it('refuses a body that announces more', async () => await expect(read([], 3, '4')).rejects.toMatchObject({ code: 'request_too_large' }));
  it.each([
    [31_457_280, 'larger than 30 MiB'],
    [1_500_000, 'larger than 1500000 bytes'],
    [3, 'larger than 3 bytes'],
  ])('names the limit of %i bytes as it is', async (limit, text) => await expect(read([], limit, String(limit + 1))).rejects.toThrow(text));

  it('copies the small parts of a body together, because each part takes some hundred bytes of memory', async () => {
    const source = new Readable({ read() {} });
    const body = readBody(source, { limit: 200_000, announced: undefined });
    const part = Buffer.alloc(1);
    const large = Buffer.alloc(5000, 'x');
    const text = `first${'0123456789'.repeat(15_000)}`;
    source.emit('data', Buffer.from('first'));
    for (const character of text.slice(5)) {
      part.write(character);
      source.emit('data', part);
    }
    source.emit('data', large);
    part.write('!');
    source.emit('data', part);
    part.write('?');
    source.emit('end');
    expect((await body).equals(Buffer.from(`${text}${large.toString()}!`))).toBe(true);
  });

  describe('a body for which no memory is left in the middle', () => {
    const refused = (source: Readable, limit: number): Promise<Buffer> =>
      readBody(source, {
        limit,
        announced: undefined,
        hold: () => {
          throw new GatewayError('server_overloaded', '');
        },
      });

    it('is refused and read to its end, because the next request follows it', async () => {
      const source = Readable.from(['a', 'b', 'c'].map((part) => Buffer.from(part)));
      const ended = once(source, 'end');
      await expect(refused(source, 3)).rejects.toMatchObject({ code: 'server_overloaded' });
      await ended;
    });

    it('is read up to the limit, and then the connection is closed', async () => {
      const source = new Readable({
        read() {
          this.push(Buffer.from('ab'));
        },
      });
      const closed = once(source, 'close');
      await expect(refused(source, 5)).rejects.toMatchObject({ code: 'server_overloaded' });
      await closed;
    });
  });

  it.each([undefined, new Error('connection reset')])('fails when the client breaks off: %s', async (why) => {
    const broken = new Readable({ read() {} });
    const body = readBody(broken, { limit: 3, announced: undefined });
    broken.destroy(why);
    await expect(body).rejects.toMatchObject({ code: 'client_closed' });
  });
});
