/**
 * The credentials of a request: a Bedrock API key as a bearer token, or, if access
 * keys are set, a signature over the whole request (wire: AWS: Signature Version 4).
 */
import type { Provider } from '../../../core/config.ts';
import type { SignedRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { Secret } from '../../../core/secret.ts';

/** The region of a provider entry that names none. */
export const defaultRegion = 'us-east-1';

interface AccessKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Temporary credentials have one. */
  readonly sessionToken?: string;
}

/** The header with the API key. None if the provider has access keys, or no key. */
export function authorise(provider: Provider): Readonly<Record<string, string>> {
  if (accessKeysOf(provider) !== null || provider.apiKey === null) return {};
  return { authorization: `Bearer ${provider.apiKey.reveal()}` };
}

/** The headers that sign a request. None if the provider has no access keys. Throws `upstream_auth_error` if it has only one of the two. */
export async function sign({ url, headers, body, at }: SignedRequest, provider: Provider): Promise<Readonly<Record<string, string>>> {
  const keys = accessKeysOf(provider);
  if (keys === null) return {};
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    ...keys,
    method: 'POST',
    url: url.href,
    // safety: a signed header must arrive unchanged, and a proxy on the way may change other headers
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-amz'))),
    body,
    service: 'bedrock',
    region: regionOf(url, provider),
    datetime: at.toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
  });
  const { headers: signed } = await signer.sign();
  return Object.fromEntries(signed);
}

function accessKeysOf({ id, settings }: Provider): AccessKeys | null {
  const read = (name: string): string | null => {
    const setting = settings[name];
    return (setting instanceof Secret ? setting.reveal() : setting) || null;
  };
  const accessKeyId = read('access_key_id');
  const secretAccessKey = read('secret_access_key');
  if (accessKeyId === null && secretAccessKey === null) return null;
  if (accessKeyId === null || secretAccessKey === null) {
    throw new GatewayError('upstream_auth_error', `The provider "${id}" needs both access_key_id and secret_access_key.`);
  }
  const sessionToken = read('session_token');
  return { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
}

/** The region of the signature: the setting `region`, or else the region in the address. */
function regionOf({ hostname }: URL, { settings }: Provider): string {
  const { region } = settings;
  if (typeof region === 'string' && region !== '') return region;
  // wire: the host of a VPC endpoint begins with an id (AWS PrivateLink: vpce-1a2b-3c4d.bedrock-runtime.eu-west-1.vpce.amazonaws.com)
  return /(?:^|\.)bedrock-runtime(?:-fips)?\.([\w-]+)\./.exec(hostname)?.[1] ?? defaultRegion;
}
