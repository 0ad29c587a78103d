/** Images at an address, for providers that take only bytes: which addresses are fetched, and which are refused. */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { isPublic } from '../../../plugins/stream/upstream/images/addresses.ts';
import type { Reach } from '../../../plugins/stream/upstream/images/addresses.ts';
import { upstreamBy } from '../../../plugins/stream/upstream/index.ts';
import { trustedCertificate } from '../../_kit/certificate.ts';
import { quietPlugins } from '../../_kit/gateway.ts';
import { answers, completion, pause } from '../../_kit/upstream.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { errorOf, gatewayOf, probe, provider } from '../../core/scene.ts';

describe('a public address', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '192.167.255.255',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001:81b::200e',
    '::ffff:8.8.8.8',
  ])('%s', (address) => expect(isPublic(address)).toBe(true));
});

describe('an address that is not public', () => {
  it.each([
    ['of this machine', '127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '::1', '::'],
    ['of a private network', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', 'fc00::1', 'fd12:3456::1'],
    ['of a link, and so the metadata of a cloud', '169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'fd00:ec2::254'],
    ['of a carrier, and the metadata of another cloud', '100.64.0.1', '100.127.255.255', '100.100.100.200'],
    [
      'of protocols, tests and documents',
      '192.0.0.192',
      '192.0.2.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '192.88.99.1',
      '2001:db8::1',
      '3fff::1',
      '2001:2::1',
      '100::1',
      '5f00::1',
    ],
    [
      'of a multicast group, or reserved',
      '224.0.0.1',
      '239.1.1.1',
      '240.0.0.1',
      '255.255.255.255',
      'ff02::1',
      'fec0::1',
      '4000::1',
      'c000::1',
    ],
    [
      'of IPv4 inside IPv6',
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '::ffff:a9fe:a9fe',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '64:ff9b::10.0.0.1',
      '64:ff9b:1::1',
      '2002:7f00:1::',
      '2001:0:4136:e378::1',
      '::ffff:0:127.0.0.1',
    ],
    ['that is no address', '', 'localhost', '8.8.8', '8.8.8.8.8', '2606:4700::1::2', '8.8.8.8/32'],
  ])('%s', (_, ...addresses) => expect(addresses.filter(isPublic)).toEqual([]));
});

function* mebibytes(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1_048_576);
}

const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
const jpeg = Buffer.from('ffd8ffe000104a46', 'hex');

/** The answers of the image server, by path. */
const site: Record<string, (response: ServerResponse) => unknown> = {
  '/a.png': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(png),
  '/b.bin': (response) => response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(jpeg),
  '/wrong.png': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(jpeg),
  '/new.avif': (response) => response.writeHead(200, { 'content-type': 'image/avif; a=b' }).end('avif'),
  '/page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>secret</p>'),
  '/gone': (response) => response.writeHead(404).end(),
  '/announced': (response) => response.writeHead(200, { 'content-type': 'image/png', 'content-length': '20971521' }).write(png),
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    Readable.from(mebibytes()).pipe(response);
  },
  '/mebibyte': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.concat([png, Buffer.alloc(1_048_576)])),
  '/torn': (response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': '100' }).write(png);
    setTimeout(() => response.destroy(), 20);
  },
  '/silent': () => {},
  '/upgrade': (response) => response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
  '/moved': (response) => response.writeHead(302, { location: '/a.png' }).end(),
  '/by-name': (response) => response.writeHead(301, { location: `https://images.test:${port}/a.png` }).end(),
  '/to-http': (response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/a.png` }).end(),
  '/inwards': (response) => response.writeHead(307, { location: 'https://169.254.169.254/latest/meta-data' }).end(),
  '/round': (response) => response.writeHead(302, { location: '/round' }).end(),
  '/nowhere': (response) => response.writeHead(302).end(),
};

let asked: string[] = [];
let port = 0;
const sockets = new Set<Socket>();
const server = (): ReturnType<typeof createServer> =>
  createServer(trustedCertificate('IP:127.0.0.1,DNS:images.test'), ({ url = '' }, response) => {
    asked.push(url);
    void (site[url] ?? ((one) => one.writeHead(404).end()))(response);
  });
let images: ReturnType<typeof server> | null = null;

beforeAll(async () => {
  images = server().on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  await once(images.listen(0, '127.0.0.1'), 'listening');
  port = (images.address() as AddressInfo).port;
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  images?.close();
});

const gemini = answers({
  candidates: [{ content: { role: 'model', parts: [{ text: 'A dot.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
});
const converse = answers({
  output: { message: { role: 'assistant', content: [{ text: 'A dot.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
});

const claude = answers({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'A dot.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 2 },
});

const reach: Reach = { isAllowed: (address) => address === '127.0.0.1', resolve: async () => ['127.0.0.1'], longestMs: 30_000 };

/** A gateway that may fetch images from this machine; the model `plain` is at Gemini, `other` at Bedrock. */
async function imageGateway({
  ways = {},
  more = {},
  step = gemini,
  others = [],
}: { ways?: Partial<Reach>; more?: object; step?: typeof gemini; others?: readonly AnyPlugin[] } = {}) {
  asked = [];
  const up = await provider(step);
  const plugins = quietPlugins.filter((name) => name !== 'stream/upstream');
  const base = up.url.replace(/\/v1$/, '');
  const providers = {
    vertex: { base_url: base, api_key: 'k', project: 'p' },
    google: { base_url: base, api_key: 'k' },
    bedrock: { base_url: base, api_key: 'k' },
    openai: { base_url: base, api_key: 'k' },
  };
  const model = (id: string, ...by: string[]): object => ({
    id,
    free: true,
    providers: by.map((providerId) => ({ providerId, externalId: 'gemini-2.5-flash', vision: true })),
  });
  const models = [
    model('plain', 'google'),
    model('other', 'bedrock'),
    model('both', 'google', 'openai'),
    {
      id: 'claude',
      free: true,
      providers: [{ providerId: 'vertex', externalId: 'claude-haiku-4-5@20251001', dialect: 'anthropic', vision: true }],
    },
  ];
  const gateway = await gatewayOf(
    { plugins, providers, models, routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } }, ...more },
    { plugins: [upstreamBy({ ...reach, ...ways }), ...others] },
  );
  const see = (addresses: string[], more: object = {}, signal?: AbortSignal) =>
    gateway.post(
      {
        model: 'plain',
        messages: [
          { role: 'system', content: 'Look.' },
          {
            role: 'user',
            content: [{ type: 'text', text: 'What is it?' }, ...addresses.map((url) => ({ type: 'image_url', image_url: { url } }))],
          },
        ],
        ...more,
      },
      signal === undefined ? {} : { signal },
    );
  return { ...gateway, up, see, sent: () => up.asked.at(-1)?.json };
}

const at = (path: string): string => `https://127.0.0.1:${port}${path}`;
const refused = (why: string, index = 1): object => ({
  code: 'unsupported_value',
  param: `messages[1].content[${index}].image_url`,
  message: expect.stringContaining(why),
});

describe('an image by its address', () => {
  it('goes as bytes to a provider that takes no address; several are fetched at once, each once', async () => {
    const { see, sent } = await imageGateway();
    const held: (() => void)[] = [];
    const both = new Promise<void>((resolve) => held.push(resolve));
    const together = (bytes: Buffer) => async (response: ServerResponse) => {
      if (asked.filter((path) => path.startsWith('/held')).length === 2) held[0]?.();
      await Promise.race([both, pause(300)]);
      response.writeHead(200).end(bytes);
    };
    Object.assign(site, { '/held-1': together(png), '/held-2': together(jpeg) });
    expect((await see([at('/held-1'), at('/held-2'), at('/held-1'), `data:image/gif;base64,R0lGOA==`])).status).toBe(200);
    const parts = sent()?.['contents'][0].parts;
    expect(parts.slice(1)).toEqual(
      [png, jpeg, png]
        .map((bytes) => ({ inlineData: { mimeType: bytes === png ? 'image/png' : 'image/jpeg', data: bytes.toString('base64') } }))
        .concat([{ inlineData: { mimeType: 'image/gif', data: 'R0lGOA==' } }]),
    );
    expect(asked.toSorted()).toEqual(['/held-1', '/held-2']);
  });

  it.each([
    ['/a.png', 'image/png'],
    ['/b.bin', 'image/jpeg'],
    ['/wrong.png', 'image/jpeg'],
    ['/new.avif', 'image/avif'],
    ['/moved', 'image/png'],
    ['/by-name', 'image/png'],
  ])('%s is %s', async (path, type) => {
    const { see, sent } = await imageGateway();
    expect((await see([at(path)])).status).toBe(200);
    expect(sent()?.['contents'][0].parts[1].inlineData.mimeType).toBe(type);
  });

  it('goes as bytes to Bedrock too, in a stream and in the result of a tool', async () => {
    const { post, sent } = await imageGateway({ step: converse });
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const messages = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: at('/a.png') }] },
    ];
    expect((await post({ model: 'other', messages })).status).toBe(200);
    expect(JSON.stringify(sent()?.['messages'])).toContain(`{"format":"png","source":{"bytes":"${png.toString('base64')}"}}`);
  });

  it.each([
    ['/v1/chat/completions', { type: 'image_url', image_url: { url: '' } }],
    ['/v1/messages', { type: 'image', source: { type: 'url', url: '' } }],
  ])('goes as bytes to a Claude of Vertex AI, from %s', async (path, image) => {
    const { post, sent } = await imageGateway({ step: claude });
    const part = JSON.parse(JSON.stringify(image).replace('"url":""', `"url":"${at('/a.png')}"`)) as object;
    expect((await post({ model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: [part] }] }, { path })).status).toBe(200);
    expect(sent()?.['messages'][0].content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
    ]);
  });

  it('is not fetched for a provider that fetches it itself', async () => {
    const { see, sent } = await imageGateway();
    const video = 'https://www.youtube.com/watch?v=1';
    await see([video]);
    expect([sent()?.['contents'][0].parts[1].fileData.fileUri, asked]).toEqual([video, []]);
  });

  it('is fetched for one provider, and goes as an address to the next one, which answers', async () => {
    const { see, up, records } = await imageGateway();
    up.script(answers({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } }, { status: 503 }), answers(completion('A dot.')));
    expect((await see([at('/a.png')], { model: 'both' })).status).toBe(200);
    expect(up.asked[1]?.json['messages'][1].content[1].image_url.url).toBe(at('/a.png'));
    expect(records[0]?.request?.messages[1]?.content?.[1]).toEqual({ type: 'image_url', image_url: { url: at('/a.png') } });
  });

  it('is fetched once where its provider is asked again', async () => {
    const routing = { default: { strategy: 'ordered', retry: { same_target: 1 } } };
    const { see, up } = await imageGateway({ more: { routing } });
    up.script(answers({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } }, { status: 503 }), gemini);
    expect((await see([at('/a.png')])).status).toBe(200);
    expect([up.asked.length, asked]).toEqual([2, ['/a.png']]);
  });
});

describe('an image that cannot be fetched is a 400 that names it', () => {
  it('before any provider is asked', async () => {
    const { see, up, get } = await imageGateway();
    const reasons: [string, string][] = [
      [at('/gone'), 'answered 404'],
      [at('/page'), 'is no image'],
      [at('/announced'), 'larger than 20 MiB'],
      [at('/endless'), 'larger than 20 MiB'],
      [at('/torn'), 'broke off'],
      [at('/round'), 'from one address to the next'],
      [at('/nowhere'), 'answered 302'],
      [at('/upgrade'), 'answered 101'],
      ['https://127.0.0.1:1/a.png', 'cannot be reached'],
      [at('/to-http'), 'only https'],
      [at('/inwards'), 'not one of the public internet'],
      [`http://127.0.0.1:${port}/a.png`, 'only https'],
      ['https://169.254.169.254/a.png', 'not one of the public internet'],
      ['https://[::ffff:127.0.0.2]/a.png', 'not one of the public internet'],
      ['https://0x7f000002/a.png', 'not one of the public internet'],
      ['https://user:word@10.0.0.1/', 'not one of the public internet'],
    ];
    for (const [address, why] of reasons) {
      const response = await see([address]);
      expect([address, response.status, await errorOf(response)]).toMatchObject([address, 400, refused(why)]);
    }
    expect(await errorOf(await see([at('/a.png'), at('/gone')]))).toMatchObject(refused('404', 2));
    expect(up.asked).toEqual([]);
    const metrics = await (await get('/metrics')).text();
    for (const [outcome, count] of [
      ['fetched', 1],
      ['refused', 7],
      ['failed', 10],
    ]) {
      expect(metrics).toContain(`gateway_image_fetches_total{outcome="${outcome}"} ${count}\n`);
    }
  });

  it('after the time limit of a fetch', async () => {
    const { see } = await imageGateway({ ways: { longestMs: 400 } });
    expect(await errorOf(await see([at('/silent')]))).toMatchObject(refused('longer than 0.4 s'));
  });

  it.each(['first_byte', 'total'])(
    'after half of the time that its provider has by `%s`, and the provider does not rest for that',
    async (limit) => {
      const { see } = await imageGateway({
        more: { routing: { default: { timeout_ms: { [limit]: 3000 }, retry: { same_target: 0, max_ms: 10 } } } },
      });
      const replies = await Promise.all(Array.from({ length: 12 }, () => see([at('/silent')])));
      for (const reply of replies) expect(await errorOf(reply)).toMatchObject(refused('more than half of the time that its provider has'));
      expect((await see([at('/a.png')])).status).toBe(200);
    },
  );

  it('unless another provider can fetch it', async () => {
    const { see, up } = await imageGateway();
    up.script(answers(completion('A dot.')));
    expect((await see([at('/gone')], { model: 'both' })).status).toBe(200);
    expect(up.asked).toHaveLength(1);
  });

  it('if its host name has no public address, checked at each request', async () => {
    const named = `https://images.test:${port}`;
    const inward = await imageGateway({ ways: { resolve: async () => ['10.0.0.1', '127.0.0.2', '::1'] } });
    expect(await errorOf(await inward.see([`${named}/a.png`]))).toMatchObject(refused('not one of the public internet'));
    const unknown = await imageGateway({ ways: { resolve: async () => [] } });
    expect(await errorOf(await unknown.see([`${named}/a.png`]))).toMatchObject(refused('name of its host is not known'));
    // the name has a public address first, and a private one a moment later
    const found = [['127.0.0.1'], ['10.0.0.1']];
    const turning = await imageGateway({ ways: { resolve: async () => found.shift() ?? [] } });
    expect(await errorOf(await turning.see([`${named}/moved`]))).toMatchObject(refused('not one of the public internet'));
    const mixed = await imageGateway({ ways: { resolve: async () => ['10.0.0.1', '127.0.0.1'] } });
    expect((await mixed.see([`${named}/a.png`])).status).toBe(200);
    expect(asked).toEqual(['/a.png']);
  });

  it('if it is on this machine, with the default settings', async () => {
    asked = [];
    const up = await provider(gemini);
    const { post } = await gatewayOf({
      providers: { google: { base_url: up.url, api_key: 'k' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'google', vision: true }] }],
    });
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: at('/a.png') } }] }];
    const response = await post({ model: 'plain', messages });
    expect([response.status, (await errorOf(response)).message, asked]).toEqual([
      400,
      expect.stringContaining('not one of the public internet'),
      [],
    ]);
  });

  it('if server.fetch_images is off', async () => {
    const { see } = await imageGateway({ more: { server: { fetch_images: false } } });
    const response = await see([at('/a.png')]);
    expect([response.status, await errorOf(response), asked]).toMatchObject([
      400,
      { code: 'unsupported_value', message: expect.stringContaining('data URL') },
      [],
    ]);
  });
});

describe('the fetching of images is limited', () => {
  it('by the size of a body, for all images of a request together', async () => {
    const { see } = await imageGateway({ more: { server: { limits: { body: 1_500_000 } } } });
    expect((await see([at('/mebibyte')])).status).toBe(200);
    expect(await errorOf(await see([at('/mebibyte'), at('/mebibyte?')]))).toMatchObject({ code: 'unsupported_value' });
    site['/mebibyte?2'] = site['/mebibyte'] as (typeof site)[string];
    expect(await errorOf(await see([at('/mebibyte'), at('/mebibyte?2')]))).toMatchObject({
      message: expect.stringContaining('larger than 1500000 bytes in all'),
    });
  });

  it('by the bytes that all requests may have in work', async () => {
    const { see } = await imageGateway({ more: { server: { limits: { in_flight_bytes: 500_000 } } } });
    const response = await see([at('/mebibyte')]);
    expect([response.status, (await errorOf(response)).code]).toEqual([413, 'request_too_large']);
    expect((await see([at('/a.png')])).status).toBe(200);
  });

  it('by the time of its request: a client that leaves ends it', async () => {
    const { see, records } = await imageGateway();
    const leaving = new AbortController();
    const left = expect(see([at('/silent')], {}, leaving.signal)).rejects.toThrow();
    await expect.poll(() => asked).toEqual(['/silent']);
    const open = sockets.size;
    leaving.abort();
    await left;
    await expect.poll(() => sockets.size).toBeLessThan(open);
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone' }]);
  });

  it('by its request: no image is fetched for a finished request', async () => {
    let goOn = (): void => {};
    const held = new Promise<undefined>((resolve) => {
      goOn = () => resolve(undefined);
    });
    let taps = 0;
    const waits = probe(({ hooks }) => hooks.open.tapPromise({ name: 'test/waits', stage: EARLY }, () => (taps++, held)), 'test/waits');
    const { see, records, get } = await imageGateway({ others: [waits] });
    const leaving = new AbortController();
    const left = expect(see([at('/a.png')], {}, leaving.signal)).rejects.toThrow();
    await expect.poll(() => taps).toBe(1);
    leaving.abort();
    await left;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone' }]);
    goOn();
    await see([at('/b.bin')]);
    expect(asked).toEqual(['/b.bin']);
    expect(await (await get('/metrics')).text()).toContain('gateway_image_fetches_total{outcome="fetched"} 1\n');
  });

  it('by its attempt: after its time, the provider is not asked when the image arrives, and the record has nothing of it', async () => {
    const [imageMayCome, isElsewhere, mayAnswer] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    site['/late.png'] = async (response) => {
      await imageMayCome.promise;
      response.writeHead(200).end(png);
    };
    const step: typeof gemini = async (response, request) => {
      if (!request.url.endsWith('/chat/completions')) return await gemini(response, request);
      isElsewhere.resolve();
      await mayAnswer.promise;
      await answers(completion('hello'))(response, request);
    };
    const { see, up, records, get } = await imageGateway({
      step,
      more: { routing: { default: { strategy: 'ordered', timeout_ms: { first_byte: 500 }, retry: { same_target: 0 } } } },
    });
    const reply = see([at('/late.png')], { model: 'both' });
    await isElsewhere.promise;
    imageMayCome.resolve();
    await expect
      .poll(async () => (await get('/metrics')).text(), { interval: 5 })
      .toContain('gateway_image_fetches_total{outcome="fetched"} 1\n');
    mayAnswer.resolve();
    expect((await reply).status).toBe(200);
    expect(records[0]?.attempts.map(({ provider: id, outcome }) => [id, outcome])).toEqual([
      ['google', 'unsupported_value'],
      ['openai', 'answered'],
    ]);
    expect(records[0]?.sent?.map((one) => [one.at, one.requests.map(({ url }) => new URL(url).pathname)])).toEqual([
      [1, ['/chat/completions']],
    ]);
    expect(up.asked.map(({ url }) => url)).toEqual(['/chat/completions']);
  });
});
