/** Where a request goes and with which credentials: AI Studio and Vertex AI differ in these, and in little else. */
import type { Provider } from '../../../core/config.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';

/** Settings of a provider entry that reaches the models through Vertex AI. */
export const settings = { project: 'plain', location: 'plain' } as const;

/** Whether a provider entry is one of Vertex AI. */
export const isVertex = ({ settings: { project, location } }: Provider): boolean => project !== undefined || location !== undefined;

/** wire: Vertex AI takes an OAuth token, AI Studio a key; the key has its own header, and never stands in the URL. */
export function authorise(provider: Provider): Readonly<Record<string, string>> {
  if (provider.apiKey === null) return {};
  const key = provider.apiKey.reveal();
  return isVertex(provider) ? { authorization: `Bearer ${key}` } : { 'x-goog-api-key': key };
}

/** wire: without `alt=sse` a stream is one JSON array sent in pieces. */
export function pathOf({ provider, mapping }: Target, isStream: boolean): string {
  requireAddress(provider);
  const { externalId } = mapping;
  const model = externalId.includes('/') ? externalId : `models/${externalId}`;
  return `/${model.split('/').map(encodeURIComponent).join('/')}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

/** safety: a token of Vertex AI must not go to the address of AI Studio, which is the dialect's own. */
function requireAddress(provider: Provider): void {
  if (!isVertex(provider) || provider.baseUrl !== null) return;
  const { project = 'PROJECT', location = 'global' } = provider.settings;
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${String(location)}-aiplatform.googleapis.com`;
  const url = `https://${host}/v1/projects/${String(project)}/locations/${String(location)}/publishers/google`;
  throw new GatewayError('no_provider_available', `The provider "${provider.id}" reaches its models through Vertex AI and has no address. Give it base_url: ${url}`);
}
