/** The doors by which requests come in, as the log names them. */
export const doorNames = ['chat', 'completions', 'messages', 'count_tokens', 'responses', 'embeddings'] as const;

// as the plugins of `endpoints/` open them: without /v1 too, and at Azure's paths
const pattern =
  /^(?:\/v1|\/[^/]+\/deployments\/[^/]+)?\/(?:(chat)\/completions|messages\/(count_tokens)|(completions|messages|responses|embeddings))$|^\/[^/]+\/(responses)$/;

/** The door that has this path; null for every other path. @param path as in the record */
export function doorOf(path: string): string | null {
  const [, ...names] = pattern.exec(path) ?? [];
  return names.find((name) => name !== undefined) ?? null;
}
