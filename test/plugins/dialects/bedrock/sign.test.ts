import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Provider } from '../../../../core/config.ts';
import { Secret } from '../../../../core/secret.ts';
import { authorise, sign } from '../../../../plugins/dialects/bedrock/sign.ts';
import { targetOf, testKey } from '../../../contract/dialect.ts';

const keys = { access_key_id: new Secret('AKIDEXAMPLE'), secret_access_key: new Secret('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY') };
const providerOf = (settings: Provider['settings'], apiKey: Secret | null = null): Provider =>
  targetOf('bedrock', { provider: { settings, apiKey } }).provider;

const at = new Date('2026-02-03T04:05:06.789Z');
const url = new URL('https://bedrock-runtime.eu-central-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse');
const request = { url, headers: { 'content-type': 'application/json', 'user-agent': 'x', 'x-other': 'y' }, body: '{"messages":[]}', at };

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Signature Version 4, written from its documentation. */
function signatureOf({ path, headers, region }: { path: string; headers: [string, string][]; region: string }): string {
  const canonical = [
    'POST',
    path,
    '',
    ...headers.map(([name, value]) => `${name}:${value}`),
    '',
    headers.map(([name]) => name).join(';'),
    sha256(request.body),
  ].join('\n');
  const scope = `20260203/${region}/bedrock/aws4_request`;
  const key = [region, 'bedrock', 'aws4_request'].reduce(hmac, hmac(`AWS4${keys.secret_access_key.reveal()}`, '20260203'));
  return hmac(key, ['AWS4-HMAC-SHA256', '20260203T040506Z', scope, sha256(canonical)].join('\n')).toString('hex');
}

const encodedTwice = '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%253A0/converse';

describe('credentials', () => {
  it('are a bearer token where there is only a key', async () => {
    const provider = providerOf({ region: 'eu-central-1' }, new Secret(testKey));
    expect(authorise(provider)).toEqual({ authorization: `Bearer ${testKey}` });
    expect(await sign(request, provider)).toEqual({});
  });

  it('are not sent where none is set', async () => {
    expect(authorise(providerOf({}))).toEqual({});
    expect(await sign(request, providerOf({}))).toEqual({});
  });

  it('are a signature, and no bearer token, where there are access keys', async () => {
    const provider = providerOf(keys, new Secret(testKey));
    expect(authorise(provider)).toEqual({});
    const signature = signatureOf({
      path: encodedTwice,
      region: 'eu-central-1',
      headers: [
        ['host', url.host],
        ['x-amz-date', '20260203T040506Z'],
      ],
    });
    expect(await sign(request, provider)).toEqual({
      'x-amz-date': '20260203T040506Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260203/eu-central-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    });
  });

  it('include the signed session token of temporary keys', async () => {
    const headers = await sign(request, providerOf({ ...keys, session_token: new Secret('session-1') }));
    const signature = signatureOf({
      path: encodedTwice,
      region: 'eu-central-1',
      headers: [
        ['host', url.host],
        ['x-amz-date', '20260203T040506Z'],
        ['x-amz-security-token', 'session-1'],
      ],
    });
    expect(headers).toMatchObject({ 'x-amz-security-token': 'session-1', authorization: expect.stringContaining(signature) });
  });

  it('sign a path in which the slashes of an ARN are encoded twice', async () => {
    const arn = new URL(
      'https://bedrock-runtime.eu-central-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Ainference-profile%2Fp/converse',
    );
    const path = '/model/arn%253Aaws%253Abedrock%253Aeu-central-1%253A1%253Ainference-profile%252Fp/converse';
    const signature = signatureOf({
      path,
      region: 'eu-central-1',
      headers: [
        ['host', url.host],
        ['x-amz-date', '20260203T040506Z'],
      ],
    });
    expect((await sign({ ...request, url: arn }, providerOf(keys)))['authorization']).toContain(signature);
  });

  it.each([
    ['of the setting', { ...keys, region: 'us-west-2' }, url.href, 'us-west-2'],
    ['in the address', keys, 'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/', 'us-gov-west-1'],
    ['in the address of a VPC endpoint', keys, 'https://vpce-0a1b2c3d-4e5f.bedrock-runtime.eu-west-1.vpce.amazonaws.com/', 'eu-west-1'],
    ['that is the default', keys, 'http://127.0.0.1:4500/', 'us-east-1'],
  ])('are for the region %s', async (_, settings, href, region) => {
    expect((await sign({ ...request, url: new URL(href) }, providerOf(settings)))['authorization']).toContain(`/${region}/bedrock/`);
  });

  it.each(['access_key_id', 'secret_access_key'] as const)('are refused with the %s alone', (name) => {
    expect(() => authorise(providerOf({ [name]: keys[name] }))).toThrow(/needs both access_key_id and secret_access_key/);
  });
});
