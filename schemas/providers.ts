/** The `providers` block: accounts at vendors, and servers of one's own. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

export const providerSchema = {
  type: 'object',
  description: 'One provider: how to reach it and with which key.',
  additionalProperties: false,
  properties: {
    dialect: { type: 'string', minLength: 1, description: 'Wire format or vendor preset, for example openai-chat; the provider\'s id where a dialect has that name.' },
    base_url: { type: 'string', pattern: '^https?://[^\\s]+$', description: 'Address with its version path, for example http://10.0.0.5:8000/v1; replaces the vendor\'s own.' },
    api_key: { type: 'string', description: 'Key sent to the provider, for example ${OPENAI_API_KEY}; `none` sends no key, an unset variable turns the provider off.' },
    trains_on_data: { type: 'boolean', description: 'Whether the provider trains on what it is sent; models of those that do, or may, are hidden by ?no_training.' },
    headers: { type: 'object', additionalProperties: { type: 'string' }, default: {}, description: 'Headers sent with each request, over those of the dialect, for example { openai-organization: org-1 }.' },
    connections: { type: 'integer', minimum: 1, maximum: 65535, default: 1024, description: 'Most connections to the provider at one time. Each takes one request; what is more waits, and the process log says so.' },
    region: { type: 'string', minLength: 1, description: 'Region of the vendor\'s cloud, for example eu-central-1.' },
    access_key_id: { type: 'string', minLength: 1, description: 'Access key id for signed requests, for example ${AWS_ACCESS_KEY_ID}.' },
    secret_access_key: { type: 'string', minLength: 1, description: 'Secret access key for signed requests, for example ${AWS_SECRET_ACCESS_KEY}.' },
    session_token: { type: 'string', minLength: 1, description: 'Session token of temporary credentials, for example ${AWS_SESSION_TOKEN}.' },
    api_version: { type: 'string', minLength: 1, description: 'Version of the vendor\'s API, in quotes, for example "2024-10-21".' },
    project: { type: 'string', minLength: 1, description: 'Project of the vendor\'s cloud that is billed, for example my-project-1.' },
    location: { type: 'string', minLength: 1, description: 'Location of the vendor\'s cloud, for example europe-west4.' },
  },
} as const satisfies JSONSchema;

export const providersSchema = {
  type: 'object',
  description: 'Providers by id; the id is what `providerId` of a model and the `provider/model` form of a request name.',
  propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', description: 'letters, digits, dot, dash and underscore, beginning with a letter or a digit' },
  additionalProperties: providerSchema,
} as const satisfies JSONSchema;

/** An entry as validated, defaults filled in. */
export type ProviderBlock = FromSchema<typeof providerSchema>;
