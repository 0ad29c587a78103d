/** Vertex AI: the host of a location, and the path of a model. Gemini and Claude share them. */
import type { Provider } from '../../../core/config.ts';

/** The settings of a provider entry for Vertex AI. */
export const vertexSettings = { project: 'required', location: 'plain' } as const;

/** The same settings for an entry with another dialect, whose `base_url` may be that of Vertex AI. */
export const maybeVertexSettings = { project: 'plain', location: 'plain' } as const;

/** True if a provider entry is for Vertex AI. Only such an entry has a project. */
export const isVertex = ({ settings: { project } }: Pick<Provider, 'settings'>): boolean => project !== undefined;

const locationOf = ({ location }: Provider['settings']): string => (typeof location === 'string' && location !== '' ? location : 'global');

/**
 * The address of the API.
 * wire: a host for the whole world, one for each multi-region (`us`, `eu`), and one for each region
 * (Vertex AI: Deployments and endpoints; Claude on Vertex AI: multi-region endpoints, preview of 2026).
 */
export function vertexAddress(settings: Provider['settings']): string {
  const location = locationOf(settings);
  if (location === 'global') return 'https://aiplatform.googleapis.com/v1';
  return location === 'us' || location === 'eu'
    ? `https://aiplatform.${location}.rep.googleapis.com/v1`
    : `https://${location}-aiplatform.googleapis.com/v1`;
}

/**
 * The path of a model of the publisher, or of another resource of the project where the name is a path, such as `endpoints/123`.
 * wire: Vertex AI: REST, projects.locations.
 */
export function vertexPath({ settings }: Provider, publisher: string, model: string): string {
  const resource = model.includes('/') ? model : `publishers/${publisher}/models/${model}`;
  return ['', 'projects', String(settings['project']), 'locations', locationOf(settings), ...resource.split('/')]
    .map(encodeSegment)
    .join('/');
}

/** wire: the version of a model follows an `@`, which stays (Anthropic: Claude on Vertex AI). */
const encodeSegment = (segment: string): string => encodeURIComponent(segment).replaceAll('%40', '@');
