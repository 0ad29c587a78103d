/** The forms in which operators write the address of a PostgreSQL, and its TLS settings. */
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkStore } from '../../../../../plugins/log/journal/commands.ts';
import { faultOfAddress, isAddress, verified } from '../../../../../plugins/log/journal/store/postgres-address.ts';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { reasonOf } from '../../../../../plugins/log/journal/store/store.ts';
import { certificate } from '../../../../_kit/certificate.ts';

test.each([
  'postgres://user:password@db.example:5432/logs',
  'postgresql://user@db.example/logs?sslmode=require',
  'postgres://user:p%40ss%3Aw%2Frd%231@[::1]:5432/logs',
  'postgres://user:password@/logs?host=/var/run/postgresql',
  'postgres://%2Fvar%2Frun%2Fpostgresql/logs',
  'socket:/var/run/postgresql?db=logs',
  '/var/run/postgresql logs',
  'postgres:///logs',
  'postgres://user:p@ss:word@db.example/logs',
  'postgres://user:100%sure@db.example/logs',
  'postgres://user:50%@db.example/logs',
  'postgres://user:pass word@db.example/logs',
  'Postgres://user@db.example/logs',
])('%s is an address, and the driver reads it', (url) => {
  expect(isAddress(url)).toBe(true);
  expect(() => new pg.Client(url)).not.toThrow();
});

test.each([
  ['a slash in the password', 'postgres://user:pass/word@db.example/logs'],
  ['a number sign in the password', 'postgres://user:pass#word@db.example/logs'],
  ['an at sign and a number sign in the password', 'postgres://user:p@ss#word@db.example/logs'],
  ['a per cent sign in the password that begins the code of no character', 'postgres://user:100%abc@db.example/logs'],
  ['another scheme', 'mysql://user@db.example/logs'],
  ['no scheme', 'db.example:5432/logs'],
  ['nothing', ' '],
])('%s is refused', (_, url) => expect(isAddress(url)).toBe(false));

test.each([
  'postgres://user:password@db-1,db-2/logs',
  'postgres://user@db-1:5432,db-2:5433/logs?target_session_attrs=read-write',
  'postgres:///logs?user=gateway&host=db-1,db-2',
  'postgres:///logs?host=db-1%2Cdb-2',
])('%s names several hosts, which the driver reads as one name, and the doctor says so', async (url) => {
  expect(await checkStore('', { store: 'postgres', url, retention_days: 0 })).toEqual({
    part: 'store',
    state: 'fault',
    text: expect.stringContaining('`url` names several hosts, and a connection is made to one'),
  });
});

test.each(['postgres://user:pass,word@db.example/logs', 'postgres://user:p@ss,word@db.example/logs?options=-c,x', '/run/a,b logs'])(
  '%s names one host',
  (url) => expect(faultOfAddress(url)).toBeNull(),
);

describe('sslmode', () => {
  test.each([
    ['?sslmode=require', '?sslmode=verify-full'],
    ['?sslmode=prefer&connect_timeout=5', '?sslmode=verify-full&connect_timeout=5'],
    ['?connect_timeout=5&sslmode=verify-ca', '?connect_timeout=5&sslmode=verify-full'],
    ['?sslmode=no-verify', '?sslmode=no-verify'],
    ['?sslmode=disable', '?sslmode=disable'],
    ['?sslmode=require&uselibpqcompat=true', '?sslmode=require&uselibpqcompat=true'],
    ['', ''],
  ])('%s reaches the driver as %s', (own, told) =>
    expect(verified(`postgres://db.example/logs${own}`)).toBe(`postgres://db.example/logs${told}`),
  );
});

describe('a self-signed certificate', () => {
  let server: Server;
  beforeAll(async () => {
    const { key, cert } = certificate('DNS:localhost,IP:127.0.0.1');
    // wire: the client's first message asks for TLS, and S says yes
    server = createServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .once('data', () => {
            socket.write('S');
            new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => {});
          }),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void server.close());

  const told =
    "self-signed certificate: write sslrootcert=FILE into the url, where FILE has the certificate of the authority that signed the server's certificate; sslmode=no-verify takes any certificate";
  const url = (): string => `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/logs?sslmode=require`;

  test('is reported with what the operator can do, in the words of this gateway only', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', listen);
    const store = await createStore({ store: 'postgres', url: url(), dataDir: '', retentionDays: 0, isDurable: false });
    expect(await store.open().then(() => 'opened', reasonOf)).toBe(told);
    await store.close();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  test('is reported by gateway doctor', async () => {
    const { state, text } = await checkStore('', { store: 'postgres', url: url(), retention_days: 0 });
    expect([state, text]).toEqual(['fault', expect.stringContaining(told)]);
  });
});

test('a server that refuses at each address of its host is reported by its error code', () => {
  expect(reasonOf(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
});
