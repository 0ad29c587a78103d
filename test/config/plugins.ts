/** Plugins in their real shape that do nothing, so that loading is tested without features. */
import type { Dialect, Identity } from '../../core/wire/dialect.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';
import type { LoadOptions } from '../../config/load.ts';
import { didYouMean } from '../../config/problems.ts';

const never = (): never => {
  throw new Error('a dialect is not used while a config is loaded');
};
const dialect = (name: string, facts: Partial<Dialect>): Dialect => ({
  name,
  baseUrl: null,
  encode: never,
  decoder: never,
  decodeBody: never,
  decodeError: never,
  ...facts,
});
const identity = (name: string): Identity => ({ package: name, fetch: never });
const plugin = (name: string, facts: Partial<AnyPlugin> = {}): AnyPlugin => ({
  name,
  summary: `Does ${name}.`,
  schema: { type: 'object', additionalProperties: false },
  apply() {},
  ...facts,
});

const journalSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    store: { type: 'string', enum: ['sqlite', 'postgres'], default: 'sqlite', description: 'Which store.' },
    url: { type: 'string', description: 'Where it is.' },
    bodies: { type: 'boolean', default: true, description: 'Whether bodies are kept.' },
    retention_days: { type: 'integer', minimum: 1, default: 30, description: 'How long records are kept.' },
  },
};

const exportSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['target'],
  properties: {
    target: {
      description: 'Where records go.',
      type: 'object',
      discriminator: { propertyName: 'kind' },
      required: ['kind'],
      oneOf: [
        {
          additionalProperties: false,
          required: ['path'],
          properties: { kind: { const: 'file', description: 'A file.' }, path: { type: 'string', description: 'Its path.' } },
        },
        {
          additionalProperties: false,
          required: ['url'],
          properties: { kind: { const: 'http', description: 'A server.' }, url: { type: 'string', description: 'Its address.' } },
        },
      ],
    },
    name: { type: 'string', minLength: 3, maxLength: 8, description: 'What it is called.' },
    labels: { type: 'array', items: { type: 'string' }, uniqueItems: true, maxItems: 2, description: 'Its labels.' },
    every: {
      description: 'How often, in seconds or as a word.',
      anyOf: [
        { type: 'integer', minimum: 1 },
        { type: 'string', enum: ['hourly', 'daily'] },
      ],
    },
  },
};

const known: readonly AnyPlugin[] = [
  plugin('auth/keys'),
  plugin('auth/tokens'),
  plugin('stream/mock', { serves: ['mock'] }),
  plugin('route/rules'),
  plugin('route/sticky'),
  plugin('log/journal', { schema: journalSchema }),
  plugin('log/export', { schema: exportSchema }),
  plugin('log/broken', { schema: { type: 'object', properties: { level: { type: 'nonsense' } } } }),
  plugin('dialects/openai-chat', {
    dialects: [
      dialect('openai', { baseUrl: 'https://api.openai.test/v1' }),
      dialect('groq', { baseUrl: 'https://api.groq.test/v1' }),
      dialect('openai-chat', {}),
      dialect('ollama', { baseUrl: 'http://localhost:11434/v1', keyless: true }),
    ],
  }),
  plugin('dialects/cloud', {
    dialects: [dialect('cloud', { baseUrl: 'https://cloud.test', settings: { deployment: 'plain', passphrase: 'secret' } })],
  }),
  plugin('dialects/second', { dialects: [dialect('groq', {}), dialect('second', {})] }),
  plugin('dialects/echo', { dialects: [dialect('mock', {})] }),
  plugin('dialects/machines', {
    dialects: [
      dialect('machines', {
        baseUrl: 'https://machines.test',
        settings: { project: 'required', passphrase: 'plain' },
        identities: { machine: identity('vitest'), cluster: identity('a-package-that-nobody-has') },
      }),
    ],
  }),
];

const byName = new Map(known.map((item) => [item.name, item]));

/** Loads the plugins above; a path that begins with `.` loads a plugin of that name. */
async function loadPlugin(use: string): Promise<AnyPlugin> {
  const found = use.startsWith('.') ? plugin('own/plugin') : byName.get(use);
  if (found === undefined) throw new Error(`no plugin is called "${use}", ${didYouMean(use, byName.keys()) ?? 'see the list of plugins'}`);
  return Promise.resolve(found);
}

export const shippedPlugins = ['auth/keys', 'stream/mock', 'dialects/openai-chat', 'dialects/cloud', 'dialects/machines'];

/** Options of a load with these variables and the plugins above. */
export const options = (env: Record<string, string | undefined> = {}): LoadOptions => ({ env, loadPlugin, shippedPlugins });
