/** The path and the credentials of a request, in which AI Studio and Vertex AI differ. */
import type { Provider } from '../../../core/config.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';

/** The settings of a provider entry for Vertex AI. */
export const settings = { project: 'plain', location: 'plain' } as const;

/** True if a provider entry is for Vertex AI, which is so if it has one of these settings. */
export const isVertex = ({ settings: { project, location } }: Provider): boolean => project !== undefined || location !== undefined;

/** The header with the credentials. wire: Vertex AI takes an OAuth token (Vertex AI: Authenticate), AI Studio a key in the header `x-goog-api-key` (Gemini API: API keys). */
export function authorise(provider: Provider): Readonly<Record<string, string>> {
  if (provider.apiKey === null) return {};
  const key = provider.apiKey.reveal();
  return isVertex(provider) ? { authorization: `Bearer ${key}` } : { 'x-goog-api-key': key };
}

/** The path of a request. wire: without `alt=sse` a stream is one JSON array (Gemini API: generateContent). Throws `no_provider_available` if an entry for Vertex AI has no `base_url`. */
export function pathOf({ provider, mapping }: Target, isStream: boolean): string {
  requireAddress(provider);
  const { externalId } = mapping;
  const model = externalId.includes('/') ? externalId : `models/${externalId}`;
  return `/${model.split('/').map(encodeURIComponent).join('/')}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

/** safety: without a `base_url` a token of Vertex AI would go to AI Studio, whose address the dialect has. */
function requireAddress(provider: Provider): void {
  if (!isVertex(provider) || provider.baseUrl !== null) return;
  const { project = 'PROJECT', location = 'global' } = provider.settings;
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${String(location)}-aiplatform.googleapis.com`;
  const url = `https://${host}/v1/projects/${String(project)}/locations/${String(location)}/publishers/google`;
  throw new GatewayError('no_provider_available', `The provider "${provider.id}" reaches its models through Vertex AI and has no address. Give it base_url: ${url}`);
}
