/** The certificate and the key of `server.tls`: each fault is reported at the setting that has it. */
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import type { Loaded } from '../../config/load.ts';
import { headline } from '../../config/problems.ts';
import { certificate, datedCertificate } from '../_kit/certificate.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const { cert, key } = certificate('DNS:one.example');
const other = certificate('DNS:two.example');
const withPassphrase = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
}).privateKey;

async function loadPair(pair: { cert: string; key: string }): Promise<Loaded> {
  const yaml =
    'server:\n  tls: { cert: ./c.pem,\n    key: ./k.pem }\nproviders: { mock: {} }\nmodels: [{ id: a, free: true, providers: [{ providerId: mock }] }]\n';
  const file = `${folderOf({ 'gateway.config.yaml': yaml, 'c.pem': pair.cert, 'k.pem': pair.key })}/gateway.config.yaml`;
  return await loadConfig(file, options({}));
}

async function problemsOf(pair: { cert: string; key: string }): Promise<string[]> {
  const loaded = await loadPair(pair);
  return loaded.ok ? [] : loaded.problems.map((problem) => headline(problem).replace(/^.*?\.yaml:/, ''));
}

test('a matching pair is accepted, with a chain after the certificate', async () => {
  expect(await problemsOf({ cert: cert + other.cert, key })).toEqual([]);
});

test.each<[string, { cert: string; key: string }, RegExp]>([
  ['a text that is no certificate', { cert: 'nothing', key }, /^2:16 server\.tls\.cert: is no certificate in PEM, /],
  ['an empty certificate', { cert: '', key }, /^2:16 server\.tls\.cert: is no certificate in PEM, /],
  ['a text that is no key', { cert, key: 'nothing' }, /^3:10 server\.tls\.key: is no key in PEM, /],
  ['the certificate in place of the key', { cert, key: cert }, /^3:10 server\.tls\.key: is no key in PEM, /],
  ['a key with a passphrase', { cert, key: withPassphrase }, /^3:10 server\.tls\.key: has a passphrase, .*openssl pkey/],
  [
    'the key of another certificate',
    { cert, key: other.key },
    /^2:16 server\.tls\.cert: does not go with server\.tls\.key \(ERR_OSSL_X509_KEY_VALUES_MISMATCH\), /,
  ],
  [
    'a chain whose first certificate is another one',
    { cert: other.cert + cert, key },
    /^2:16 server\.tls\.cert: does not go with server\.tls\.key .*its own certificate first/,
  ],
])('%s is reported', async (_, pair, wanted) => {
  const problems = await problemsOf(pair);
  expect(problems).toEqual([expect.stringMatching(wanted)]);
});

test.each<[string, [from: number, to: number], string]>([
  [
    'that begins in the future',
    [2900, 2901],
    'the certificate is not valid before 2900-01-01, name one that is valid now, or set the clock of this machine',
  ],
  [
    'that has ended',
    [2001, 2002],
    'the certificate has expired on 2002-01-01, renew it; the gateway uses the new one as soon as the files have changed',
  ],
])('a certificate %s is a warning', async (_, [from, to], wanted) => {
  const loaded = await loadPair(datedCertificate(from, to));
  expect(loaded.ok && loaded.warnings.map(({ path, message, hint }) => [path, `${message}, ${hint}`])).toEqual([
    ['server.tls.cert', wanted],
  ]);
});
