/** The path and the credentials of a request, in which AI Studio and Vertex AI differ. */
import type { Provider } from '../../../core/config.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { isVertex, vertexPath } from '../families/vertex.ts';

/**
 * The header with the credentials.
 * wire: Vertex AI takes an OAuth token (Vertex AI: Authenticate), AI Studio a key in the header `x-goog-api-key` (Gemini API: API keys).
 */
export function authorise(provider: Provider): Readonly<Record<string, string>> {
  if (provider.apiKey === null) return {};
  const key = provider.apiKey.reveal();
  return isVertex(provider) ? { authorization: `Bearer ${key}` } : { 'x-goog-api-key': key };
}

/** The whole name of a model at AI Studio. A name with a slash is whole, such as `tunedModels/mine`. */
export const wholeName = (externalId: string): string => (externalId.includes('/') ? externalId : `models/${externalId}`);

/** The path of a model at AI Studio. */
export const studioPath = (externalId: string): string => `/${wholeName(externalId).split('/').map(encodeURIComponent).join('/')}`;

/** The path of a request. wire: without `alt=sse` a stream is one JSON array (Gemini API: generateContent). */
export function pathOf({ provider, mapping: { externalId } }: Target, isStream: boolean): string {
  const model = isVertex(provider) ? vertexPath(provider, 'google', externalId) : studioPath(externalId);
  return `${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}
