/**
 * The form that the Messages API has on Vertex AI.
 * wire: the model is in the path, and the version in the body (Anthropic: Claude
 * on Vertex AI; Vertex AI: Request predictions with Claude models, Count tokens).
 */
import type { Target } from '../../../core/wire/dialect.ts';
import { vertexPath } from '../families/vertex.ts';
import type { Block } from './content.ts';

interface Wire {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Block;
}

/**
 * The betas that Vertex AI knows, by the name that the caller sends: one of them has another name at Vertex AI.
 * wire: any other beta is a 400 "Unexpected value(s) … for the `anthropic-beta` header", and clients
 * that do not know of Vertex AI send other betas with each request (anthropics/claude-code#21625 and
 * #34802, 2026-01 and 2026-03; the list: BerriAI/litellm, anthropic_beta_headers_config.json, 2026-11)
 */
const known: ReadonlyMap<string, string> = new Map([
  ...[
    'compact-2026-01-12',
    'compact-2026-09-04',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dangerous-tool-use-2026-09-03',
    'interleaved-thinking-2025-05-14',
    'per-turn-control-2026-07-01',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19',
    'web-search-2025-03-05',
  ].map((beta) => [beta, beta] as const),
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** The caller's betas as Vertex AI takes them. @param dropped is called with each beta that Vertex AI does not know */
export const betasForVertex = (betas: readonly string[], dropped: (beta: string) => void): readonly string[] =>
  betas.flatMap((beta) => {
    const own = known.get(beta);
    if (own === undefined) dropped(beta);
    return own ?? [];
  });

/**
 * A cache breakpoint without its `scope`, which belongs to a beta that Vertex AI does not know.
 * wire: a `scope` is a 400 "cache_control.ephemeral.scope: Extra inputs are not permitted" (Anthropic: error text).
 * @param dropped is called if the breakpoint had a `scope`
 */
export function breakpointForVertex(control: object, dropped: () => void): object {
  if (!('scope' in control)) return control;
  const { scope: _, ...sent } = control;
  dropped();
  return sent;
}

/** A request of the Messages API as Vertex AI takes it. */
export function forVertex(
  { headers, body }: Wire,
  { provider, mapping }: Target,
  { isCount, isStream }: { isCount: boolean; isStream: boolean },
): Wire {
  const { 'anthropic-version': _, ...others } = headers;
  const { model: __, ...rest } = body;
  if (isCount) return { path: `${vertexPath(provider, 'anthropic', 'count-tokens')}:rawPredict`, headers: others, body };
  const operation = isStream ? 'streamRawPredict' : 'rawPredict';
  return {
    path: `${vertexPath(provider, 'anthropic', mapping.externalId)}:${operation}`,
    headers: others,
    body: { anthropic_version: 'vertex-2023-10-16', ...rest },
  };
}
