/** The `providers` block: accounts at vendors, and servers of your own. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { mostCount } from './server.ts';

/** One entry of `providers`. */
export const providerSchema = {
  type: 'object',
  description: 'One provider: how to reach it and with which key.',
  additionalProperties: false,
  properties: {
    dialect: {
      type: 'string',
      minLength: 1,
      description:
        'Wire format or vendor preset, for example openai-chat. Without this, the id of the provider is the name of its dialect.',
    },
    base_url: {
      type: 'string',
      pattern: '^https?://[^\\s]+$',
      description: "Address with its version path, for example http://10.0.0.5:8000/v1. It replaces the vendor's own address.",
    },
    api_key: {
      type: ['string', 'array'],
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description:
        'Key that is sent to the provider, for example ${OPENAI_API_KEY}. `none` sends no key; an unset variable turns the provider off. Several keys as a list share the requests, and a key that is limited or refused rests.',
    },
    auth: {
      type: 'string',
      minLength: 1,
      description:
        "Instead of a key: the identity of this machine at the vendor's cloud, whose library finds and renews it. All values: docs/providers.md.",
    },
    trains_on_data: {
      type: 'boolean',
      description:
        'Whether the provider trains on the requests. ?no_training hides the models of providers with true, and of those where this is left out.',
    },
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      default: {},
      description:
        'Headers that are sent with each request, for example { openai-organization: org-1 }. They replace headers of the dialect.',
    },
    connections: {
      type: 'integer',
      minimum: 1,
      maximum: 65535,
      default: 1024,
      description:
        'Limit of connections to the provider at one time, for example 1024. A connection carries one request; further requests wait, and the process log says so.',
    },
    proxy: {
      type: 'string',
      pattern: '^(?:none|https?://[^\\s]+)$',
      description:
        'Proxy on the way to the provider, for example http://proxy.internal:3128; none connects directly. Without it HTTPS_PROXY and NO_PROXY of the environment count.',
    },
    ca: {
      type: 'string',
      minLength: 1,
      description:
        'Certificates of authorities in PEM that are trusted instead of those that Node trusts, for example ${file:./company-ca.pem}.',
    },
    deployments: {
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1 },
      default: {},
      description:
        'Names that models have at this provider instead of those in the catalogue, by model id, for example { gpt-5: my-gpt5 }.',
    },
    breaker: {
      description:
        'When a model of this provider rests because it fails: after so many failures in a row, for example { failures: 5, rest_ms: 5000 }. false: never.',
      anyOf: [
        { const: false },
        {
          type: 'object',
          additionalProperties: false,
          properties: {
            failures: {
              type: 'integer',
              minimum: 1,
              maximum: mostCount,
              description: 'Failures in a row after which the model rests, 5 where it is left out.',
            },
            rest_ms: {
              type: 'integer',
              minimum: 1,
              maximum: 60000,
              description: 'Length of the first rest in milliseconds, 5000 where it is left out. It doubles up to a minute.',
            },
          },
        },
      ],
    },
    region: { type: 'string', minLength: 1, description: "Region of the vendor's cloud, for example eu-central-1." },
    access_key_id: { type: 'string', minLength: 1, description: 'Access key id for signed requests, for example ${AWS_ACCESS_KEY_ID}.' },
    secret_access_key: {
      type: 'string',
      minLength: 1,
      description: 'Secret access key for signed requests, for example ${AWS_SECRET_ACCESS_KEY}.',
    },
    session_token: {
      type: 'string',
      minLength: 1,
      description: 'Session token of temporary credentials, for example ${AWS_SESSION_TOKEN}.',
    },
    api_version: { type: 'string', minLength: 1, description: 'Version of the vendor\'s API, in quotes, for example "2024-10-21".' },
    project: { type: 'string', minLength: 1, description: "Project of the vendor's cloud that pays, for example my-project-1." },
    location: { type: 'string', minLength: 1, description: "Location of the vendor's cloud, for example europe-west4." },
  },
} as const satisfies JSONSchema;

/** The `providers` block. */
export const providersSchema = {
  type: 'object',
  description: 'Providers by id. Models name the id as `providerId`, and requests as `provider/model`.',
  propertyNames: {
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    description: 'letters, digits, dot, dash and underscore, beginning with a letter or a digit',
  },
  additionalProperties: providerSchema,
} as const satisfies JSONSchema;

/** An entry that passed the schema, with its defaults. */
export type ProviderBlock = FromSchema<typeof providerSchema>;
