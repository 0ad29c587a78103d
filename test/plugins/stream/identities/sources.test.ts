/**
 * Sources of an identity that are not the endpoint of a machine, with the
 * libraries of the clouds: a role by web identity, a service principal.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { aws } from '../../../../plugins/dialects/bedrock/identity.ts';
import { entra } from '../../../../plugins/dialects/openai-chat/identity.ts';
import { trustedCertificate } from '../../../_kit/certificate.ts';
import { machineAt } from './clouds.ts';

interface Said {
  readonly path: string;
  readonly form: URLSearchParams;
}

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/** A server that answers with `answer`; `said` has its requests. */
async function endpoint(
  answer: (said: Said, origin: string) => { type: string; body: string },
  tls?: { key: string; cert: string },
): Promise<{ origin: string; said: Said[] }> {
  const said: Said[] = [];
  let origin = '';
  const server = (tls === undefined ? createHttpServer() : createServer(tls)).on('request', (request, response) => {
    let text = '';
    request
      .on('data', (part: Buffer) => (text += part.toString()))
      .on('end', () => {
        const one = { path: request.url ?? '', form: new URLSearchParams(text) };
        said.push(one);
        const { type, body } = answer(one, origin);
        response.writeHead(200, { 'content-type': type }).end(body);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  origin = `http${tls === undefined ? '' : 's'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, said };
}

it('a provider uses the role of a Kubernetes service account at AWS (IRSA)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-irsa-'));
  writeFileSync(join(folder, 'token'), 'a-token-of-the-cluster');
  const expiration = '2099-01-01T00:00:00.000Z';
  const sts = await endpoint(() => ({
    type: 'text/xml',
    body: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>secret-1</SecretAccessKey><SessionToken>session-1</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
  }));
  machineAt('http://127.0.0.1:9', {
    AWS_ROLE_ARN: 'arn:aws:iam::1:role/r',
    AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
    AWS_ENDPOINT_URL_STS: sts.origin,
    AWS_REGION: 'eu-west-1',
  });
  expect(await aws.fetch()).toEqual({
    settings: { access_key_id: 'ASIA1', secret_access_key: 'secret-1', session_token: 'session-1' },
    expiresAt: Date.parse(expiration),
  });
  expect(sts.said[0]?.form.get('WebIdentityToken')).toBe('a-token-of-the-cluster');
  rmSync(folder, { recursive: true });
});

it('a provider uses long-lived keys of the environment at AWS, which never expire', async () => {
  machineAt('http://127.0.0.1:9', { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_SECRET_ACCESS_KEY: 'secret-1' });
  expect(await aws.fetch()).toEqual({ settings: { access_key_id: 'AKIA1', secret_access_key: 'secret-1' }, expiresAt: null });
});

it('a provider signs in as a service principal at its own authority (Entra ID)', async () => {
  const authority = await endpoint(
    ({ path }, origin) => ({
      type: 'application/json',
      body: JSON.stringify(
        path.includes('openid-configuration')
          ? {
              issuer: `${origin}/tenant-1/v2.0`,
              authorization_endpoint: `${origin}/tenant-1/authorize`,
              token_endpoint: `${origin}/tenant-1/oauth2/v2.0/token`,
              jwks_uri: `${origin}/keys`,
            }
          : { access_token: 'a-token-of-the-principal', token_type: 'Bearer', expires_in: 3600 },
      ),
    }),
    trustedCertificate(),
  );
  machineAt('http://127.0.0.1:9', {
    AZURE_AUTHORITY_HOST: authority.origin,
    AZURE_TENANT_ID: 'tenant-1',
    AZURE_CLIENT_ID: 'client-1',
    AZURE_CLIENT_SECRET: 'secret-1',
    AZURE_TOKEN_CREDENTIALS: 'EnvironmentCredential',
  });
  const before = Date.now();
  const { settings, expiresAt } = await entra.fetch();
  expect(settings).toEqual({ api_key: 'a-token-of-the-principal' });
  expect((expiresAt ?? 0) - before).toBeGreaterThan(3_500_000);
  expect(Object.fromEntries(authority.said.at(-1)?.form ?? [])).toMatchObject({
    grant_type: 'client_credentials',
    client_id: 'client-1',
    client_secret: 'secret-1',
    scope: expect.stringContaining('https://cognitiveservices.azure.com/.default'),
  });
});
