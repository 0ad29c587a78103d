/** The token endpoints of three clouds on one port of this machine, and the environment in which their libraries find them. */
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

export type Cloud = 'google' | 'aws' | 'entra';

/** A token of a cloud. */
export interface Given {
  readonly cloud: Cloud;
  readonly token: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The times of the request to the cloud and of its answer. */
  readonly askedAt: number;
  readonly givenAt: number;
}

export interface Clouds {
  readonly origin: string;
  readonly given: Given[];
  /** Requests for tokens, also refused ones. */
  readonly asked: Cloud[];
  /** The most requests of one cloud at one time. */
  most: number;
  /** How long tokens live. */
  seconds: number;
  /** Resolves when a cloud may answer. */
  mayAnswer: (cloud: Cloud) => Promise<void>;
  /** No cloud gives a token. */
  isBroken: boolean;
  forget(): void;
  close(): Promise<void>;
}

/**
 * wire: MSAL keeps a token of this process that lives longer than five minutes,
 * over all objects of its own (MSAL Node: ManagedIdentityApplication).
 */
const seconds = 200;

const atOnce = async (): Promise<void> => {};

const cloudOf = (path: string): Cloud | null =>
  path.includes('/service-accounts/default/token')
    ? 'google'
    : path.startsWith('/aws')
      ? 'aws'
      : path.startsWith('/entra')
        ? 'entra'
        : null;

/**
 * The answers of each cloud.
 * wire: Google Cloud: VM metadata, access tokens; AWS: Container credential provider; App Service: Managed identity, REST endpoint.
 */
const bodies: Readonly<Record<Cloud, (token: string, seconds: number, expiresAt: number) => object>> = {
  google: (token, seconds) => ({ access_token: token, expires_in: seconds, token_type: 'Bearer' }),
  aws: (token, _, expiresAt) => ({
    AccessKeyId: `AKID-${token}`,
    SecretAccessKey: 'a-secret-access-key',
    Token: token,
    Expiration: new Date(expiresAt).toISOString(),
  }),
  entra: (token, _, expiresAt) => ({
    access_token: token,
    expires_on: String(Math.floor(expiresAt / 1000)),
    resource: 'https://cognitiveservices.azure.com',
    token_type: 'Bearer',
  }),
};

export async function startClouds(): Promise<Clouds> {
  const running: Record<Cloud, number> = { google: 0, aws: 0, entra: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const cloud = cloudOf(request.url ?? '');
    if (cloud === null) return void response.writeHead(404, { 'metadata-flavor': 'Google' }).end();
    clouds.asked.push(cloud);
    const askedAt = Date.now();
    running[cloud] += 1;
    clouds.most = Math.max(clouds.most, running[cloud]);
    await clouds.mayAnswer(cloud);
    running[cloud] -= 1;
    if (clouds.isBroken) {
      return void response
        .writeHead(403, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
        .end('{"error":"access_denied","message":"no identity for this machine"}');
    }
    // seconds, as the clouds count
    const expiresAt = (Math.floor(Date.now() / 1000) + clouds.seconds) * 1000;
    const token = `${cloud}-token-${clouds.given.length}`;
    clouds.given.push({ cloud, token, expiresAt, askedAt, givenAt: Date.now() });
    response
      .writeHead(200, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
      .end(JSON.stringify(bodies[cloud](token, clouds.seconds, expiresAt)));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clouds: Clouds = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    given: [],
    asked: [],
    most: 0,
    seconds,
    mayAnswer: atOnce,
    isBroken: false,
    forget() {
      clouds.given.length = 0;
      clouds.asked.length = 0;
      Object.assign(clouds, { most: 0, seconds, mayAnswer: atOnce, isBroken: false });
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return clouds;
}

/** Sets the environment of this machine until the end of the test, so that no files and keys of the developer are found. */
export function machineAt(origin: string, more: Readonly<Record<string, string>> = {}): void {
  const nobody = mkdtempSync(join(tmpdir(), 'gateway-identity-'));
  const unset = Object.keys(process.env).filter((name) => /^(?:AWS|AZURE|GOOGLE|GCLOUD|GCE|CLOUDSDK|MSI|IDENTITY)_/.test(name));
  for (const name of unset) vi.stubEnv(name, undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const environment = {
    HOME: nobody,
    CLOUDSDK_CONFIG: nobody,
    GCE_METADATA_HOST: origin.replace('http://', ''),
    METADATA_SERVER_DETECTION: 'assume-present',
    AWS_SHARED_CREDENTIALS_FILE: join(nobody, 'credentials'),
    AWS_CONFIG_FILE: join(nobody, 'config'),
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/aws`,
    AWS_EC2_METADATA_DISABLED: 'true',
    IDENTITY_ENDPOINT: `${origin}/entra`,
    IDENTITY_HEADER: 'a-header-of-the-machine',
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    ...more,
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
}
