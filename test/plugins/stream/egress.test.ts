/** stream/upstream: connections to providers, through proxies and with private certificate authorities. */
import dns from 'node:dns';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { lookUp } from '../../../core/wire/egress/look-up.ts';
import { certificate, datedCertificate, signedCertificate, trustedCertificate } from '../../_kit/certificate.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { completion } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider, routing } from '../../core/scene.ts';
import { portOf } from './port.ts';

/** A proxy that connects every tunnel to one port of this machine. @param pair it speaks TLS with this certificate */
async function proxyTo(port: number, status = 200, { host = '127.0.0.1', pair }: { host?: string; pair?: object } = {}) {
  const asked: { target: string | undefined; login: string | undefined }[] = [];
  const server = pair === undefined ? createHttpServer() : createServer(pair);
  server.on('request', (_, response) => void response.writeHead(400).end());
  server.on('connect', ({ url, headers }, near: Socket) => {
    asked.push({ target: url, login: headers['proxy-authorization'] });
    near.on('error', () => {});
    if (status !== 200) near.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    if (status !== 200 || port === 0) return;
    const far = connect(port, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  const scheme = pair === undefined ? 'http' : 'https';
  return { asked, url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${await portOf(server, host)}` };
}

/** A provider with TLS as `provider.example`, with a certificate of an authority that Node does not trust. */
async function encrypted({ key, cert } = certificate('DNS:provider.example,IP:127.0.0.1')) {
  const port = await portOf(
    createServer(
      { key, cert },
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('through'))),
    ),
  );
  return { port, ca: cert };
}

const variables = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy', 'ALL_PROXY', 'all_proxy'];
const before = variables.map((name) => [name, process.env[name]] as const);
afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

/** @param connect how long a connection may take, in ms; short in tests without a connection */
const gatewayTo = (base_url: string, more: object = {}, connect = 5000) =>
  gatewayOf({
    ...oneUpstream(base_url, routing({ connect })),
    providers: { up: { dialect: 'openai-chat', base_url, api_key: 'k', ...more } },
  });

describe('a provider', () => {
  it('is asked through the proxy of its entry, with its name and password, on connections that are used again', async () => {
    const { port, ca } = await encrypted();
    const proxy = await proxyTo(port);
    const { chat } = await gatewayTo('https://provider.example/v1', { proxy: proxy.url.replace('//', '//ann:s%40crt@'), ca });
    expect([await contentOf(await chat({})), await contentOf(await chat({}))]).toEqual(['through', 'through']);
    expect(proxy.asked).toEqual([{ target: 'provider.example:443', login: `Basic ${Buffer.from('ann:s@crt').toString('base64')}` }]);
  });

  it('is asked through the proxy of the environment, unless NO_PROXY names it', async () => {
    const { port, ca } = await encrypted();
    const proxy = await proxyTo(port);
    process.env['HTTPS_PROXY'] = proxy.url;
    const { chat } = await gatewayTo('https://provider.example:8443/v1', { ca });
    expect(await contentOf(await chat({}))).toBe('through');
    expect(proxy.asked).toEqual([{ target: 'provider.example:8443', login: undefined }]);
    process.env['NO_PROXY'] = '.example';
    const direct = await gatewayTo('https://provider.example:8443/v1', { ca }, 300);
    expect((await direct.chat({})).status).toBeGreaterThanOrEqual(502);
    expect(proxy.asked).toHaveLength(1);
  });

  it('is asked through a proxy of the environment that is written without a scheme', async () => {
    const { port, ca } = await encrypted();
    const proxy = await proxyTo(port);
    process.env['HTTPS_PROXY'] = proxy.url.replace('http://', '');
    const { chat } = await gatewayTo('https://provider.example/v1', { ca });
    expect(await contentOf(await chat({}))).toBe('through');
    expect(proxy.asked.map(({ target }) => target)).toEqual(['provider.example:443']);
  });

  it.each(['127.0.0.1', 'localhost'])('is asked through a proxy of the environment that speaks TLS, at %s', async (name) => {
    const { port, ca } = await encrypted();
    const proxy = await proxyTo(port, 200, { pair: trustedCertificate(name === 'localhost' ? 'DNS:localhost' : 'IP:127.0.0.1') });
    process.env['HTTPS_PROXY'] = proxy.url.replace('127.0.0.1', name);
    const { chat } = await gatewayTo('https://provider.example/v1', { ca });
    expect(await contentOf(await chat({}))).toBe('through');
    expect(proxy.asked.map(({ target }) => target)).toEqual(['provider.example:443']);
  });

  it('with an IPv6 address is asked through a proxy with an IPv6 address', async () => {
    const { port, ca } = await encrypted(certificate('IP:2001:db8::5'));
    const proxy = await proxyTo(port, 200, { host: '::1' });
    const { chat } = await gatewayTo('https://[2001:db8::5]/v1', { proxy: proxy.url, ca });
    expect(await contentOf(await chat({}))).toBe('through');
    expect(proxy.asked.map(({ target }) => target)).toEqual(['[2001:db8::5]:443']);
  });

  it('on this machine, or with `proxy: none`, is asked without a proxy', async () => {
    const { port, ca } = await encrypted();
    const proxy = await proxyTo(port);
    process.env['HTTPS_PROXY'] = proxy.url;
    expect(await contentOf(await (await gatewayTo(`https://127.0.0.1:${port}/v1`, { ca })).chat({}))).toBe('through');
    expect((await (await gatewayTo('https://provider.example/v1', { ca, proxy: 'none' }, 300)).chat({})).status).toBeGreaterThanOrEqual(
      502,
    );
    expect(proxy.asked).toEqual([]);
  });

  it('that speaks plain HTTP is asked in a tunnel too', async () => {
    const up = await provider();
    const proxy = await proxyTo(Number(new URL(up.url).port));
    const { chat } = await gatewayTo('http://provider.example/v1', { proxy: proxy.url });
    expect(await contentOf(await chat({}))).toBe('hello');
    expect([proxy.asked.map(({ target }) => target), up.asked[0]?.headers['host']]).toEqual([['provider.example:80'], 'provider.example']);
  });

  it.each([
    ['is by nobody who is trusted', certificate, 'its certificate is not trusted'],
    ['is by an authority that is not trusted', signedCertificate, 'its certificate is not trusted'],
    ['is for another name', () => trustedCertificate('DNS:other.example'), 'its certificate is for another name'],
  ])('is not asked where its certificate %s', async (_, make, why) => {
    const { port } = await encrypted(make('IP:127.0.0.1'));
    const { chat } = await gatewayTo(`https://127.0.0.1:${port}/v1`);
    expect((await errorOf(await chat({}))).message).toBe(`The provider cannot be reached: ${why}.`);
  });

  it.each([
    ['has expired', 2001, 2002, 'its certificate has expired'],
    ['is valid later, as on a machine whose clock is wrong', 2098, 2099, 'its certificate is not valid yet by the clock of this machine'],
  ])('is not asked where its certificate %s', async (_, from, to, why) => {
    const { port, ca } = await encrypted(datedCertificate(from, to));
    const { chat } = await gatewayTo(`https://127.0.0.1:${port}/v1`, { ca });
    expect((await errorOf(await chat({}))).message).toBe(`The provider cannot be reached: ${why}.`);
  });

  it('that speaks no TLS at an https address is reported as such', async () => {
    const up = await provider();
    const { chat } = await gatewayTo(`${up.url.replace('http:', 'https:')}/v1`);
    expect((await errorOf(await chat({}))).message).toBe('The provider cannot be reached: it does not speak TLS, which https needs.');
  });
});

describe('a proxy', () => {
  it('that refuses is an error that leaves out its address', async () => {
    const proxy = await proxyTo(1, 407);
    const { chat } = await gatewayTo('https://provider.example/v1', { proxy: proxy.url });
    expect(await errorOf(await chat({}))).toMatchObject({
      code: 'upstream_unreachable',
      message: 'The provider cannot be reached: the proxy on the way to it failed.',
    });
  });

  it('that cannot be reached is an error too', async () => {
    const { chat } = await gatewayTo('https://provider.example/v1', { proxy: 'http://127.0.0.1:1' });
    expect((await errorOf(await chat({}))).message).toContain('the proxy on the way to it failed');
  });

  it.each(['socks5://127.0.0.1:1080', 'http://127.0.0.1:99999', 'http://:3128', 'http://ann:s%zz@127.0.0.1:1'])(
    'with an unsupported address, %s, is an error too',
    async (address) => {
      process.env['ALL_PROXY'] = address;
      const { chat } = await gatewayTo('https://provider.example/v1');
      expect(await errorOf(await chat({}))).toMatchObject({
        code: 'upstream_unreachable',
        message: 'The provider cannot be reached: the proxy on the way to it failed.',
      });
    },
  );

  // a pause of the machine makes the wait longer
  it('that does not answer takes at most the time to connect', { retry: 2 }, async () => {
    const proxy = await proxyTo(0);
    const { chat } = await gatewayTo('https://provider.example/v1', { proxy: proxy.url }, 300);
    const began = performance.now();
    expect((await errorOf(await chat({}))).code).toBe('upstream_timeout');
    expect(performance.now() - began).toBeLessThan(3000);
  });
});

/** Answers each look-up of these names by `tell`, in place of the machine's servers of names, until the test ends. */
type Tell = (error: Error | null, all?: dns.LookupAddress[]) => void;
function namesOf(names: readonly string[], answer: (name: string, tell: Tell) => void): void {
  const { lookup } = dns;
  const use = (one: unknown): void => {
    Object.assign(dns, { lookup: one });
    syncBuiltinESMExports();
  };
  onTestFinished(() => use(lookup));
  use((name: string, options: dns.LookupAllOptions, tell: Tell) =>
    names.includes(name) ? answer(name, tell) : lookup(name, options, tell),
  );
}

describe('names', () => {
  it('of a provider are looked up once for simultaneous requests', async () => {
    const up = await provider();
    const names: string[] = [];
    const told = Promise.withResolvers<void>();
    namesOf(['provider.example'], (name, tell) => {
      names.push(name);
      void told.promise.then(() => tell(null, [{ address: '127.0.0.1', family: 4 }]));
    });
    let opened = 0;
    const base_url = up.url.replace('127.0.0.1', 'provider.example');
    const { chat } = await gatewayOf(oneUpstream(base_url), { plugins: [probe(({ hooks }) => hooks.open.tap(() => void opened++))] });
    const replies = Array.from({ length: 10 }, () => chat({}));
    await expect.poll(() => opened).toBe(10);
    told.resolve();
    expect(new Set(await Promise.all(replies.map(async (reply) => await contentOf(await reply))))).toEqual(new Set(['hello']));
    expect(names).toEqual(['provider.example']);
  });

  it('of two providers that are looked up at one time get each its own addresses, so that no key reaches the other host', async () => {
    const heard: (string | undefined)[] = [];
    const server = createHttpServer(({ headers, socket }, response) => {
      heard.push(`${headers.authorization} at ${socket.localAddress}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('hello')));
    });
    const port = await portOf(server, '0.0.0.0');
    const waiting = new Map<string, Tell>();
    namesOf(['one.example', 'two.example'], (name, tell) => void waiting.set(name, tell));
    const { chat } = await gatewayOf({
      providers: Object.fromEntries(
        ['one', 'two'].map((id) => [id, { dialect: 'openai-chat', base_url: `http://${id}.example:${port}/v1`, api_key: `key-of-${id}` }]),
      ),
      models: ['one', 'two'].map((id) => ({ id, free: true, providers: [{ providerId: id }] })),
    });
    const replies = [chat({ model: 'one' }), chat({ model: 'two' })];
    await expect.poll(() => [...waiting.keys()].toSorted()).toEqual(['one.example', 'two.example']);
    waiting.get('two.example')?.(null, [{ address: '127.0.0.2', family: 4 }]);
    await replies[1];
    waiting.get('one.example')?.(null, [{ address: '127.0.0.1', family: 4 }]);
    await replies[0];
    expect(heard).toEqual(['Bearer key-of-two at 127.0.0.2', 'Bearer key-of-one at 127.0.0.1']);
  });

  it('are looked up again after an answer, and a failure is no answer to later requests', async () => {
    const up = await provider();
    const answers = [[new Error('EAI_AGAIN')], [null, [{ address: '127.0.0.1', family: 4 }]]] as Parameters<Tell>[];
    let asked = 0;
    namesOf(['provider.example'], (_, tell) => process.nextTick(() => tell(...(answers[asked++] as Parameters<Tell>))));
    const { chat } = await gatewayTo(up.url.replace('127.0.0.1', 'provider.example'));
    expect((await errorOf(await chat({}))).code).toBe('upstream_unreachable');
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(asked).toBe(2);
  });
});

it('a question for all addresses of a name does not share the answer to a question for one, nor one family that of another', () => {
  const questions: [dns.LookupOptions, Tell][] = [];
  const { lookup } = dns;
  onTestFinished(() => {
    Object.assign(dns, { lookup });
    syncBuiltinESMExports();
  });
  Object.assign(dns, { lookup: (_: string, options: dns.LookupOptions, tell: Tell) => void questions.push([options, tell]) });
  syncBuiltinESMExports();
  const asked: dns.LookupOptions[] = [
    { all: true },
    { all: false },
    { all: true, family: 4 },
    { all: true, family: 6 },
    { all: true, hints: dns.ADDRCONFIG },
  ];
  for (const options of [...asked, ...asked]) lookUp('provider.example', options, () => {});
  expect(questions.map(([options]) => options)).toEqual(asked);
  for (const [, tell] of questions) tell(null, []);
});
