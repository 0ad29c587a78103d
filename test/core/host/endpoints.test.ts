/** Endpoints of plugins: a fault is reported at the start, and an answer that HTTP does not allow names its plugin. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { errorOf, gatewayOf, probe } from '../scene.ts';

/** A gateway whose plugin adds this endpoint. */
const serving = async (endpoint: object): Promise<TestGateway> =>
  await gatewayOf(oneUpstream('http://127.0.0.1:9'), {
    plugins: [
      probe(({ routes }) => routes.add({ method: 'GET', path: '/probe', auth: 'none', handle: () => ({ body: 'mine' }), ...endpoint })),
    ],
  });

const answering = async (answer: unknown): Promise<TestGateway> => await serving({ handle: () => answer });

describe('an endpoint of a plugin', () => {
  it.each([
    ['GET', '/v1/models', 'endpoints/models'],
    ['GET', '/v1/responses/:response', 'endpoints/responses'],
    ['POST', '/v1/chat/completions', 'endpoints/chat-completions'],
  ])('refuses the start where another plugin has it: %s %s', async (method, path, owner) => {
    await expect(serving({ method, path })).rejects.toThrow(
      `The plugin "test/probe" refuses to start: ${method} ${path} is an endpoint of ${owner} already`,
    );
  });

  it('may have the path of another endpoint, with another method', async () => {
    const { ask } = await serving({ method: 'DELETE', path: '/v1/models' });
    expect(await (await ask('/v1/models', { method: 'DELETE' })).text()).toBe('mine');
  });

  it.each([
    [{ handle: 3 }, '`handle` must be a function'],
    [{ bodyLimit: '1 MiB' }, '`bodyLimit` must be a number of bytes'],
    [{ bodyLimit: Number.NaN }, '`bodyLimit` must be a number of bytes'],
    [{ auth: 'nobody' }, '`auth` must be "key", "admin" or "none"'],
    [{ about: 3 }, '`about` must have a `summary`'],
    [{ about: { summary: 'says something' } }, '`about` must have a `summary`, and an `answer` by media type'],
  ])('refuses the start where it has a fault: %j', async (fault, words) => {
    await expect(serving(fault)).rejects.toThrow(
      `The plugin "test/probe" refuses to start: the endpoint GET /probe cannot be used: ${words}`,
    );
  });

  it.each([
    [{ method: undefined }, 'undefined /probe', '`method` must be GET, POST, PATCH or DELETE'],
    [{ path: 5 }, 'GET 5', '`path` must be a text, such as /v1/things/:id'],
  ])('refuses the start where nothing could ask for it: %o', async (fault, name, words) => {
    await expect(serving(fault)).rejects.toThrow(`the endpoint ${name} cannot be used: ${words}`);
  });

  it('refuses the start where it is a door that lacks a function', async () => {
    const door = { path: '/v1/probe', parse: () => ({}), encoder: () => ({}) };
    const plugins = [probe(({ routes }) => routes.addDoor(door as never))];
    await expect(gatewayOf(oneUpstream('http://127.0.0.1:9'), { plugins })).rejects.toThrow(
      'The plugin "test/probe" refuses to start: the endpoint POST /v1/probe cannot be used: `encode` must be a function',
    );
  });

  it.each(['/x/:id([', '/x/:', '/x/**/y/**'])('refuses the start where the router takes no such path: %s', async (path) => {
    await expect(serving({ path })).rejects.toThrow(`The plugin "test/probe" refuses to start: the endpoint GET ${path} cannot be used: `);
  });

  it('cannot be added after the start', async () => {
    let late = (): void => {};
    const { get } = await gatewayOf(oneUpstream('http://127.0.0.1:9'), {
      plugins: [
        probe(({ hooks, routes }) => {
          const add = (path: string): void => routes.add({ method: 'GET', path, auth: 'none', handle: () => ({ body: 'mine' }) });
          hooks.boot.tap(() => add('/at-boot'));
          late = () => add('/late');
        }),
      ],
    });
    expect(late).toThrow('the plugin "test/probe" adds GET /late after the start; add it in apply()');
    expect([(await get('/at-boot')).status, (await get('/late')).status]).toEqual([200, 404]);
  });
});

describe('the answer of an endpoint', () => {
  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['a body that is an object', { body: { a: 1 } }],
    ['a header with a new line', { body: 'a', headers: { 'x-a': 'a\nb' } }],
    ['a header with a space in its name', { body: 'a', headers: { 'x a': 'a' } }],
    ['a header with two values', { body: 'a', headers: { 'set-cookie': ['a=1', 'b=2'] } }],
    ['headers that are no plain object', { body: 'a', headers: new Headers({ 'x-a': 'a' }) }],
    ['headers in a map', { body: 'a', headers: new Map([['x-a', 'a']]) }],
    ['a Response of fetch', new Response('a', { status: 403 })],
    ['a length that the gateway writes itself', { body: 'hello', headers: { 'Content-Length': '3' } }],
    ['a length that the gateway writes itself, for bytes', { body: new Uint8Array([97]), headers: { 'content-length': '30' } }],
    ['an encoding of the connection', { body: 'a', headers: { 'transfer-encoding': 'chunked' } }],
    ['another protocol', { body: 'a', headers: { upgrade: 'websocket' } }],
    [
      'a stream that is read already',
      () => {
        const body = new Blob(['a']).stream();
        body.getReader();
        return { body };
      },
    ],
    ['a status that does not exist', { body: 'a', status: 99 }],
    ['a status that is not final', { body: 'a', status: 103 }],
    ['a status that is a text', { body: 'a', status: '200' }],
  ])('of %s names the plugin', async (_, answer) => {
    const { get, lines } = await (typeof answer === 'function' ? serving({ handle: answer }) : answering(answer));
    expect(await errorOf(await get('/probe'))).toMatchObject({
      code: 'plugin_error',
      message: 'The plugin "test/probe" failed to answer.',
    });
    expect(lines.join('')).toContain('the endpoint answered');
  });

  it.each([200, 201, 404, 418, 599])('may have the status %i', async (status) => {
    const { get } = await answering({ status, body: 'mine' });
    const response = await get('/probe');
    expect([response.status, await response.text()]).toEqual([status, 'mine']);
  });

  it.each([204, 304])('may have the status %i and no body', async (status) => {
    const { get } = await answering({ status, body: null });
    expect((await get('/probe')).status).toBe(status);
  });

  it.each([null, undefined])('without a body (%s) ends its request, so that the gateway can close after a reload', async (body) => {
    const { get, gateway } = await answering({ status: 204, body });
    await get('/probe');
    expect(gateway.running.size).toBe(0);
  });

  it('may have no body below /api, where answers are compressed', async () => {
    const { get } = await serving({ path: '/api/probe', handle: () => ({ status: 204 }) });
    expect((await get('/api/probe', { 'accept-encoding': 'gzip' })).status).toBe(204);
  });

  it.each<[string, unknown]>([
    ['bytes', new Uint8Array([97])],
    ['a stream', new Blob(['a']).stream()],
    ['a text', 'a'],
  ])('may be %s', async (_, body) => {
    const { get } = await answering({ body });
    expect(await (await get('/probe')).text()).toBe('a');
  });

  it('may have a length where it is a stream, because only the plugin knows that length', async () => {
    const { get } = await answering({ body: new Blob(['hello']).stream(), headers: { 'content-length': '5' } });
    const response = await get('/probe');
    expect([response.headers.get('content-length'), await response.text()]).toEqual(['5', 'hello']);
  });

  it('loses the length that the plugin gave where the gateway compresses the answer', async () => {
    const { get } = await serving({
      path: '/api/probe',
      handle: () => ({ body: new Blob(['hello']).stream(), headers: { 'content-length': '5' } }),
    });
    const response = await get('/api/probe', { 'accept-encoding': 'gzip' });
    expect([response.headers.get('content-length'), String(gunzipSync(await response.arrayBuffer()))]).toEqual([null, 'hello']);
  });

  it.each(['', 'a\tb', 'caf\u00e9', '"quoted"; q=1, *'])('may have the header value %j', async (value) => {
    const { get } = await answering({ body: 'a', headers: { "x-a!#$%&'*+.^_`|~": value } });
    const response = await get('/probe');
    expect([response.status, response.headers.has("x-a!#$%&'*+.^_`|~")]).toEqual([200, true]);
  });
});
