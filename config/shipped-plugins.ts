/** What runs where a config file has no `plugins` list; the shipped file lists the same (a test holds the two together). */
export const shippedPlugins = [
  'endpoints/chat-completions',
  'endpoints/models',
  'endpoints/health',
  'auth/keys',
  'metadata/headers',
  'normalise/reasoning',
  'normalise/continuity',
  'route/capability',
  'route/policy',
  'stream/upstream',
  'stream/mock',
  'log/cost',
  'log/console',
  'dialects/openai-chat',
] as const;
