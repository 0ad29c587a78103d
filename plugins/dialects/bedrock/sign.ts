/** Who asks: a Bedrock API key as a bearer token, or a Signature Version 4 over the whole request where access keys are set. */
import type { Provider } from '../../../core/config.ts';
import type { SignedRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { Secret } from '../../../core/secret.ts';

export const defaultRegion = 'us-east-1';

interface AccessKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string;
}

/** The bearer token of a provider that has no access keys. */
export function authorise(provider: Provider): Readonly<Record<string, string>> {
  if (accessKeysOf(provider) !== null || provider.apiKey === null) return {};
  return { authorization: `Bearer ${provider.apiKey.reveal()}` };
}

/** The headers of a signed request; none for a provider without access keys. */
export async function sign({ url, headers, body, at }: SignedRequest, provider: Provider): Promise<Readonly<Record<string, string>>> {
  const keys = accessKeysOf(provider);
  if (keys === null) return {};
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    ...keys,
    method: 'POST',
    url: url.href,
    // safety: a proxy on the way may change other headers, and every signed one has to arrive as it left
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
  if (accessKeyId === null || secretAccessKey === null) throw new GatewayError('upstream_auth_error', `The provider "${id}" needs both access_key_id and secret_access_key.`);
  const sessionToken = read('session_token');
  return { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
}

/** A signature is for one region: the setting's, or the one in the address. */
function regionOf({ hostname }: URL, { settings }: Provider): string {
  const { region } = settings;
  if (typeof region === 'string' && region !== '') return region;
  return /^bedrock-runtime(?:-fips)?\.([\w-]+)\./.exec(hostname)?.[1] ?? defaultRegion;
}
