/** A gateway that serves HTTPS by itself. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { certificate, trustedCertificate } from '../_kit/certificate.ts';
import { launch, mockConfig, run, start } from '../_kit/executable.ts';
import { startCollector } from '../plugins/log/otel-collector.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a new certificate into the folder. */
function renew(): string {
  const made = trustedCertificate();
  writeFileSync(join(folder, 'cert.pem'), made.cert);
  writeFileSync(join(folder, 'key.pem'), made.key);
  return made.cert;
}

// cost: a start with all plugins takes twice the CPU
const plugins = ['endpoints/chat-completions', 'endpoints/health', 'auth/keys', 'route/policy', 'stream/mock'];
const config = (more: object = {}): object => ({
  plugins,
  ...mockConfig({ prompt: '0', completion: '0' }),
  server: { tls: { cert: './cert.pem', key: './key.pem' }, ...more },
});

const ask = (url: string, content: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock', stream: true, messages: [{ role: 'user', content }] }),
  });

/** The certificate of a new connection. */
const shown = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? '');
      socket.destroy();
    }).on('error', reject);
  });

describe.each([
  ['one process', {}],
  ['workers', { workers: 2 }],
])('with %s', (_, more) => {
  test('a gateway serves HTTPS, answers commands, uses a renewed certificate, and completes requests at its stop', async () => {
    const first = renew();
    const gateway = await start(config(more), {}, { folder });
    expect(gateway.url).toMatch(/^https:\/\/127\.0\.0\.1:/);
    expect(await (await ask(gateway.url, 'hello there')).text()).toContain('hello');
    expect((await run(['route', '--config', gateway.file, '--model', 'mock', 'why?'])).stdout).toContain('mock');
    expect(await shown(gateway.port)).toBe(first);

    const stream = await ask(gateway.url, '[[words:60]] [[pace:50]]');
    // a client without TLS
    await new Promise((resolve) =>
      connectPlain(gateway.port, '127.0.0.1')
        .on('error', () => {})
        .once('close', resolve)
        .resume()
        .end('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    );
    const second = renew();
    gateway.child.kill('SIGHUP');
    await expect.poll(() => shown(gateway.port)).toBe(second);

    // the new key does not match the certificate; the last valid pair stays in use
    writeFileSync(join(folder, 'key.pem'), 'nothing');
    gateway.child.kill('SIGHUP');
    await expect.poll(() => gateway.output().stderr).toMatch(/the last good one stays in use.*server\.tls\.key: is no key in PEM/);
    expect(await shown(gateway.port)).toBe(second);

    gateway.child.kill('SIGTERM');
    expect(await stream.text()).toContain('[DONE]');
    expect(await gateway.stop()).toBe(0);
    await expect(shown(gateway.port)).rejects.toThrow(/ECONNREFUSED/);
  });
});

test('logs -f with --port accepts any name in the certificate on this machine, and only the right name of another machine', async () => {
  const made = certificate('DNS:one.example');
  writeFileSync(join(folder, 'cert.pem'), made.cert);
  writeFileSync(join(folder, 'key.pem'), made.key);
  const gateway = await start({ ...config(), plugins: [...plugins, 'endpoints/logs', 'log/journal'] }, {}, { folder });
  const port = String(gateway.port);
  const following = launch(['logs', '-f', '--config', gateway.file, '--port', port], {});
  await expect.poll(() => following.output().stdout).toContain('TIME');
  following.child.kill('SIGINT');
  await following.ended;
  // another name of the same address
  expect(await run(['logs', '--config', gateway.file, '--host', '::ffff:7f00:1', '--port', port])).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('does not answer: self-signed certificate'),
  });
  expect(await gateway.stop()).toBe(0);
});

test('traces have the scheme https', async () => {
  renew();
  const collector = await startCollector();
  const gateway = await start(
    { ...config(), plugins: [...plugins, { use: 'log/otel', with: { interval_ms: 100 } }] },
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    { folder },
  );
  expect((await ask(gateway.url, 'hello')).status).toBe(200);
  // before the stop, which waits for the collector only for a limited time
  await expect.poll(() => collector.spans()[0]?.attributes['url.scheme']).toBe('https');
  expect(await gateway.stop()).toBe(0);
});

test('a missing certificate refuses the start, with its line in the config', async () => {
  writeFileSync(join(folder, 'bad.config.yaml'), 'server:\n  tls: { cert: ./nowhere.pem, key: ./key.pem }\nplugins: [stream/mock]\n');
  const { code, stderr } = await run(['check', '--config', join(folder, 'bad.config.yaml')]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/bad\.config\.yaml:2:16 .*cannot be read: there is no such file/)]);
});
