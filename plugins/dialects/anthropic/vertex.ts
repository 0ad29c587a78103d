/** The form that the Messages API has on Vertex AI. wire: the model is in the path, and the version in the body (Anthropic: Claude on Vertex AI; Vertex AI: Request predictions with Claude models, Count tokens). */
import type { Target } from '../../../core/wire/dialect.ts';
import { vertexPath } from '../families/vertex.ts';
import type { Block } from './content.ts';

interface Wire {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Block;
}

/** A request of the Messages API as Vertex AI takes it. */
export function forVertex({ headers, body }: Wire, { provider, mapping }: Target, { isCount, isStream }: { isCount: boolean; isStream: boolean }): Wire {
  const { 'anthropic-version': _, ...others } = headers;
  const { model: __, ...rest } = body;
  if (isCount) return { path: `${vertexPath(provider, 'anthropic', 'count-tokens')}:rawPredict`, headers: others, body };
  const operation = isStream ? 'streamRawPredict' : 'rawPredict';
  return { path: `${vertexPath(provider, 'anthropic', mapping.externalId)}:${operation}`, headers: others, body: { anthropic_version: 'vertex-2023-10-16', ...rest } };
}
