/** `gateway doctor`, run by the executable: one line for each part, with what to do. */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createNetServer } from 'node:net';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, it } from 'vitest';
import { checkup, roomText } from '../../../core/cli/doctor/doctor.ts';
import { RunningFile } from '../../../core/cli/running-files.ts';
import { certificate, datedCertificate } from '../../_kit/certificate.ts';
import { run } from '../../_kit/executable.ts';
import { startRedis } from '../../_kit/servers.ts';

const opened: (() => void)[] = [];
afterAll(() => opened.forEach((close) => close()));

/** Opens a port, which is closed after all tests. Returns `127.0.0.1:<port>`. */
async function hostOf(server: NetServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A vendor that accepts the key `right`. */
async function vendor({ isPublic = false, aheadMs = 0, status = 401 } = {}) {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(({ method, url, headers }, response) => {
    asked.push(`${method} ${url}`);
    const isGood = isPublic || headers.authorization === 'Bearer right';
    response
      .writeHead(isGood ? 200 : status, { 'content-type': 'application/json', date: new Date(Date.now() + aheadMs).toUTCString() })
      .end(isGood ? '{"data":[]}' : '{"error":{"message":"no","type":"not_served_here"}}');
  }).on('connection', (socket: Socket) => void sockets.add(socket));
  opened.push(() => sockets.forEach((socket) => socket.destroy()));
  const host = await hostOf(server);
  return { asked, base_url: `http://${host}/v1`, host };
}

/** cost: a command that reads all plugins takes twice the CPU. */
const plugins = ['stream/upstream', 'stream/mock', 'dialects/openai-chat', 'log/journal'];
const examined = async (config: object | string, prepare: (folder: string) => void = () => {}, flags: readonly string[] = []) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  prepare(folder);
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify({ plugins, ...config }));
  const { code, stdout, stderr } = await run(['doctor', ...flags, '--config', file]);
  return {
    code,
    stderr,
    lines: stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ {2,}/, ' ')),
  };
};

const dialect = 'openai-chat';

// the command waits ten seconds for a provider and one for Redis, and a pause of the machine may be longer
describe.concurrent('gateway doctor', { retry: 2 }, () => {
  it('says what plugins find, at once or later, and which plugins cannot check', async ({ expect }) => {
    const plugin = (name: string, checkup: string): string =>
      `export default { name: 'log/${name}', summary: 'looks at its part', checkup() { ${checkup} }, apply() {} };`;
    const plugins = {
      soon: "return [{ part: 'soon', state: 'note', text: 'is well' }];",
      later: "return Promise.resolve([{ part: 'later', state: 'note', text: 'is well' }]);",
      throws: "throw new Error('no wish to look');",
      silent: '',
      silentLater: 'return Promise.resolve();',
      odd: "return [{ part: 'odd', state: 'ok', text: 'is well' }];",
    };
    const { code, lines } = await examined({ plugins: Object.keys(plugins).map((name) => `./${name}.mjs`) }, (folder) => {
      for (const [name, text] of Object.entries(plugins)) writeFileSync(join(folder, `${name}.mjs`), plugin(name, text));
    });
    expect(lines.filter((line) => /soon|later|throws|silent|odd/i.test(line))).toEqual([
      '· soon is well',
      '· later is well',
      '✗ log/throws the plugin cannot check its part: no wish to look',
      '✗ log/odd the plugin cannot check its part: checkup() must give a list of { part, state, text, fix }, the state one of good, note, warning and fault',
    ]);
    expect(code).toBe(1);
  });

  it('prints no control character for machines, also where a part that is examined has sent one', async ({ expect }) => {
    const text = 'no credit\u009b31m';
    const plugin = `export default { name: 'log/sly', summary: 'looks at its part', checkup: () => [{ part: 'sly', state: 'note', text: ${JSON.stringify(text)} }], apply() {} };`;
    const { lines } = await examined({ plugins: ['./sly.mjs'] }, (folder) => writeFileSync(join(folder, 'sly.mjs'), plugin), ['--json']);
    expect(lines.join('')).not.toContain('\u009b');
    expect(JSON.parse(lines.join(''))).toContainEqual({ part: 'sly', state: 'note', text });
  });

  it('says which plugin does not end its check, and does not wait for it', async ({ expect }) => {
    expect(await checkup('log/waits', () => new Promise(() => {}), 50)).toEqual([
      { part: 'log/waits', state: 'fault', text: 'the plugin cannot check its part: it did not answer within 0.05 s' },
    ]);
  });

  it('says how the address of a proxy is written, and does not show it, because it may hold a password', async ({ expect }) => {
    const { lines } = await examined({
      providers: { up: { dialect, base_url: 'http://provider.example/v1', proxy: 'http://ann:s%zz@127.0.0.1:1' } },
    });
    expect(lines.filter((line) => /up|s%zz/.test(line))).toEqual([
      '✗ up provider.example: The provider cannot be reached: the proxy on the way to it failed. (the address of the proxy is not that of an HTTP proxy: write http://host:port, or `proxy: none` in the entry of the provider; SOCKS is not supported) → check base_url, the proxy and the firewall on the way',
    ]);
  });

  it('says which providers answer, and which keys they accept', async ({ expect }) => {
    const [good, open, odd, lost, barred] = [
      await vendor(),
      await vendor({ isPublic: true }),
      await vendor({ status: 418 }),
      await vendor({ status: 404 }),
      await vendor({ status: 403 }),
    ];
    const { code, lines, stderr } = await examined({
      providers: {
        right: { dialect, base_url: good.base_url, api_key: 'right' },
        wrong: { dialect, base_url: good.base_url, api_key: 'wrong' },
        several: { dialect, base_url: good.base_url, api_key: ['right', 'other'] },
        open: { dialect, base_url: open.base_url, api_key: 'any' },
        odd: { dialect, base_url: odd.base_url, api_key: 'any' },
        keyless: { dialect, base_url: odd.base_url, api_key: 'none' },
        headed: { dialect, base_url: good.base_url, api_key: 'placeholder', headers: { Authorization: 'Bearer right' } },
        misled: { dialect, base_url: good.base_url, api_key: 'right', headers: { Authorization: 'Bearer wrong' } },
        lost: { dialect, base_url: lost.base_url.replace('/v1', '/api'), api_key: 'any' },
        barred: { dialect, base_url: barred.base_url, api_key: 'any' },
        gone: { dialect, base_url: 'http://127.0.0.1:1/v1', api_key: 'any' },
        absent: { dialect, base_url: good.base_url, api_key: '${NOT_SET_ANYWHERE}' },
      },
    });
    expect(lines).toEqual(
      expect.arrayContaining([
        `✓ right ${good.host} accepts the key`,
        `✗ wrong ${good.host} refuses the key (401) → set a valid api_key, or remove the provider`,
        `✓ several ${good.host} accepts key 1`,
        `✗ several ${good.host} refuses key 2 (401) → set a valid api_key, or remove the provider`,
        `✓ open ${open.host} answers; it tells anybody its models, so whether it accepts the key is not known`,
        `✓ odd ${odd.host} answers (418); whether it accepts the key is not known`,
        `✓ headed ${good.host} answers; headers of the entry are sent in place of the key`,
        `✗ misled ${good.host} refuses the headers of the entry, which are sent in place of the key (401) → set valid headers, or remove them`,
        `! lost ${lost.host} answers, and knows no /api/models → check the path of base_url: most servers want /v1 at its end`,
        `✗ barred ${barred.host} refuses the key (403). Provider "barred" answered 403: not_served_here → see at the provider what this key and its account may do, or remove the provider`,
        `✓ keyless ${odd.host} answers`,
        expect.stringMatching(/^✗ gone 127\.0\.0\.1:1: The provider cannot be reached: it refused the connection\..* → check base_url/),
        '· providers off: absent (NOT_SET_ANYWHERE is not set)',
        '✓ clock agrees with the providers',
      ]),
    );
    expect([code, stderr]).toEqual([1, '5 faults.\n']);
    expect(new Set([...good.asked, ...open.asked])).toEqual(new Set(['GET /v1/models']));
    expect(JSON.stringify(lines)).not.toMatch(/Bearer|"wrong"|other/);
  });

  it('says what is wrong with a certificate, and what to do', async ({ expect }) => {
    const named = certificate('DNS:other.example');
    const [unknown, other, old, plain] = await Promise.all(
      [
        createTlsServer(certificate('IP:127.0.0.1')),
        createTlsServer(named),
        createTlsServer(datedCertificate(2001, 2002)),
        createNetServer((socket) => void socket.end('no TLS')),
      ].map(async (server) => `https://${await hostOf(server)}/v1`),
    );
    const { code, lines } = await examined({
      providers: {
        unknown: { dialect, base_url: unknown },
        other: { dialect, base_url: other, ca: named.cert },
        old: { dialect, base_url: old },
        plain: { dialect, base_url: plain },
      },
    });
    const said = (part: string): string | undefined => lines.find((line) => line.includes(` ${part} `));
    expect([code, said('unknown'), said('other'), said('old'), said('plain')]).toEqual([
      1,
      expect.stringMatching(
        /: its certificate is not trusted\. \(self-signed certificate.*\) → give the provider the certificate of its authority, for example ca: \$\{file:\.\/ca\.pem\}$/,
      ),
      expect.stringMatching(/: its certificate is for another name\. .* → write a name in base_url that the certificate is for$/),
      expect.stringMatching(
        /: its certificate has expired\. .* → renew the certificate of the provider; if it is new, set the clock of this machine$/,
      ),
      expect.stringMatching(
        /: it does not speak TLS, which https needs\. \(wrong version number\) → write http:\/\/ in base_url, or the port that speaks TLS$/,
      ),
    ]);
  });

  it('says that providers answer, also where none of them sends its time', async ({ expect }) => {
    const server = createServer((_, response) => {
      response.sendDate = false;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
    });
    const { lines } = await examined({ providers: { own: { dialect, base_url: `http://${await hostOf(server)}/v1`, api_key: 'none' } } });
    expect(lines).toEqual(
      expect.arrayContaining([expect.stringMatching(/^✓ own .* answers$/), '· clock not compared: no provider sent its time']),
    );
  });

  it('warns of an address that answers with a redirect or a web page', async ({ expect }) => {
    const page = createServer(
      ({ url }, response) =>
        void (
          url?.startsWith('/moved') === true
            ? response.writeHead(301, { location: 'https://localhost/v1/models' })
            : response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        ).end('<html>Sign in</html>'),
    );
    const host = await hostOf(page);
    const { code, lines } = await examined({
      providers: {
        page: { dialect, base_url: `http://${host}`, api_key: 'any' },
        keyless: { dialect, base_url: `http://${host}`, api_key: 'none' },
        moved: { dialect, base_url: `http://${host}/moved`, api_key: 'any', headers: { Authorization: 'Bearer other' } },
      },
    });
    const fix = 'check base_url: http or https, and the path (most servers want /v1 at its end)';
    expect([code, lines]).toEqual([
      0,
      expect.arrayContaining([
        `! page ${host} answers with a web page and no list of models → ${fix}`,
        `! keyless ${host} answers with a web page and no list of models → ${fix}`,
        `! moved ${host} answers with a redirect, which is not followed → ${fix}`,
      ]),
    ]);
  });

  it('warns of a server that fails', async ({ expect }) => {
    const down = await vendor({ status: 503 });
    const { code, lines } = await examined({
      providers: {
        keyed: { dialect, base_url: down.base_url, api_key: 'any' },
        keyless: { dialect, base_url: down.base_url, api_key: 'none' },
        headed: { dialect, base_url: down.base_url, api_key: 'any', headers: { Authorization: 'Bearer other' } },
      },
    });
    const says = `${down.host} answers with 503, so the server or a proxy before it fails → look at the status page of the provider, or at the log of the server`;
    expect([code, lines]).toEqual([0, expect.arrayContaining([`! keyed ${says}`, `! keyless ${says}`, `! headed ${says}`])]);
  });

  it('compares the clock, and says that a gateway with TLS hangs', async ({ expect }) => {
    const { base_url } = await vendor({ aheadMs: 3_600_000 });
    // accepts connections and does not answer
    const silent = createNetServer(() => {});
    const url = `https://${await hostOf(silent)}`;
    const { code, lines } = await examined(
      { providers: { right: { dialect, base_url, api_key: 'right' } } },
      (folder) => void new RunningFile(() => join(folder, 'data'), { config: join(folder, 'gateway.config.yaml'), url, follows: null }),
    );
    expect([code, lines]).toEqual([
      1,
      expect.arrayContaining([
        expect.stringMatching(
          `^✗ serving the gateway at ${url} does not answer → see its output; if it hangs, gateway restart cannot reach it: run kill -9 ${process.pid} and start it again`,
        ),
        expect.stringMatching(/^✗ clock 3[56]\d\d s behind the providers → set the clock of this machine/),
        expect.stringMatching(/^· store .*: empty, the first start prepares it$/),
      ]),
    ]);
  });

  it('looks at the store, the disk and Redis', async ({ expect }) => {
    const { base_url } = await vendor();
    const { code, lines } = await examined(
      { providers: { right: { dialect, base_url, api_key: 'right' } }, redis: { url: 'redis://127.0.0.1:1' } },
      (folder) => {
        mkdirSync(join(folder, 'data'));
        const database = new DatabaseSync(join(folder, 'data/logs.db'));
        database.exec(
          "create table gateway_migrations (id integer primary key, name text not null, checksum text not null, applied_at text not null); insert into gateway_migrations values (999, 'of a later day', 'x', 'y')",
        );
        database.close();
      },
    );
    expect([code, lines]).toEqual([
      1,
      expect.arrayContaining([
        expect.stringMatching(/^✓ version \d+\.\d+\.\d+, on Node /),
        expect.stringMatching(/^✓ config .*gateway\.config\.yaml: 0 models, 1 of 1 provider on$/),
        '· serving no gateway serves with this config on this machine',
        expect.stringMatching(/^✗ store sqlite .*logs\.db is newer than this program/),
        expect.stringMatching(/^[✓!] disk .*data: [\d.]+ [MG]iB free/),
        '✗ redis does not answer: refused → start Redis, or fix redis.url',
      ]),
    ]);
  });

  it('says why a Redis that answers cannot be used', async ({ expect }) => {
    const redis = await startRedis();
    const sentinel = await startRedis(undefined, { sentinelOf: 1 });
    opened.push(
      () => void redis.stop(),
      () => void sentinel.stop(),
    );
    const said = async (url: string) => (await examined({ redis: { url } })).lines.filter((line) => / redis /.test(line));
    expect(await said(redis.url)).toEqual(['✓ redis answers']);
    expect(await said(`${redis.url}/99`)).toEqual([
      '✗ redis cannot be used: no_database → end redis.url with the number of a database that this Redis has and that the user of redis.url may select',
    ]);
    expect(await said(sentinel.url)).toEqual([
      '✗ redis cannot be used: sentinel → set redis.url to the address of the primary, or of a proxy that follows the primary; a Sentinel keeps no data',
    ]);
  });

  it('tells a small disk from one on which even deleting fails', ({ expect }) => {
    const texts = [1 << 30, 500 << 20, 63 << 20, 0]
      .map((free) => roomText('/data', free))
      .map(({ state, text, fix = '' }) => `${state} ${text} ${fix}`);
    expect(texts).toEqual([
      'good /data: 1.0 GiB free ',
      expect.stringMatching(/^warning \/data: 500 MiB free make space on the disk, .*gateway logs prune$/),
      expect.stringMatching(/^fault \/data: 63 MiB free make space in another way/),
      expect.stringMatching(/^fault \/data: 0 MiB free /),
    ]);
  });

  it('says what is wrong with a config that cannot be used', async ({ expect }) => {
    const { code, lines } = await examined('providers:\n  mock: { dialect: mok }\n');
    expect([code, lines.join('\n')]).toEqual([
      1,
      expect.stringMatching(/^✓ version [^]*✗ config .*cannot be used[^]*:2:20[^]*→ fix these places/),
    ]);
  });
});
