/** The `server` block: where the gateway listens, where it keeps its data, and what it refuses. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

/**
 * Longest time of a setting, in milliseconds.
 * safety: a timer of more than 2^31 - 1 ms (24 days) is over at once, and some timers add a little to their setting.
 */
export const longestMs = 2_000_000_000;

/**
 * Largest number of bytes of a setting: 1 TiB, which no request has.
 * safety: Node takes no limit of headers beyond 2^53, so the start would end with a stack.
 */
export const mostBytes = 2 ** 40;

/** Largest number of requests or tokens of a setting: 10¹², which no minute has. It and its multiples are exact numbers in every process and in Redis. */
export const mostCount = 1e12;

/**
 * Largest depth of a JSON body.
 * safety: V8 writes JSON by recursion. With its usual stack it fails between 4,000 and 6,000 levels, and copies values up to 2,000.
 */
const mostDepth = 1000;

/** Requests that one process can serve at one time: Linux lets a process open no more files (fs.nr_open). */
const mostAtOnce = 2 ** 20;

const limitsSchema = {
  type: 'object',
  description:
    'Limits of size and time. Beyond them the gateway refuses a request or closes a connection. With `workers`, each of them has its share of in_flight_bytes and in_flight_requests.',
  additionalProperties: false,
  default: {},
  properties: {
    body: {
      type: 'integer',
      minimum: 1,
      maximum: mostBytes,
      default: 33554432,
      description: 'Largest request body, in bytes. A larger body is answered with 413.',
    },
    in_flight_bytes: {
      type: 'integer',
      minimum: 65536,
      maximum: mostBytes,
      description:
        'Limit of the bytes of all request bodies at one time. A request for which there is no room is answered with 503, a single body that is larger than the limit with 413. Absent: an eighth of the heap limit (node --max-old-space-size), counted without the 32 MiB of the gateway itself. For example 536870912.',
    },
    in_flight_requests: {
      type: 'integer',
      minimum: 1,
      maximum: mostAtOnce,
      description:
        'Requests for a model that run at one time. A further one is answered with 503. Absent: one for each 128 KiB of the heap limit, counted without the 32 MiB of the gateway itself. For example 10000.',
    },
    connection_requests: {
      type: 'integer',
      minimum: 1,
      maximum: mostAtOnce,
      default: 8,
      description:
        'Requests of one connection that run at one time, where a client sends them without waiting for the replies. The others wait.',
    },
    json_depth: { type: 'integer', minimum: 1, maximum: mostDepth, default: 64, description: 'Deepest nesting of a JSON body, in levels.' },
    headers: {
      type: 'integer',
      minimum: 1024,
      maximum: mostBytes,
      default: 16384,
      description: 'Largest size of all request headers together, in bytes. Larger headers are answered with 431.',
    },
    header_time_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestMs,
      default: 10000,
      description:
        'Time that a client has to send its headers, in milliseconds; with `tls`, for the handshake too, where a change waits for a restart.',
    },
    request_time_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestMs,
      default: 30000,
      description: 'Time that a client has to send its whole request, in milliseconds.',
    },
    upstream_event: {
      type: 'integer',
      minimum: 1024,
      maximum: mostBytes,
      default: 1048576,
      description: "Largest single event of a provider's stream, in bytes.",
    },
    upstream_body: {
      type: 'integer',
      minimum: 1024,
      maximum: mostBytes,
      default: 33554432,
      description: 'Largest answer of a provider: a plain answer in bytes, a stream in characters of its content.',
    },
    keep_alive_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestMs,
      default: 4000,
      description:
        'Silence after which a stream gets a keep-alive comment, in milliseconds, for example 4000. Some clients give up after 5 seconds without a byte. A stream that got a keep-alive comment has the status 200: a later failure is an error event in the stream.',
    },
    lame_duck_ms: {
      type: 'integer',
      minimum: 0,
      maximum: longestMs,
      default: 0,
      description:
        'Time between the signal to stop and the closing of the port, in milliseconds. Requests are served meanwhile, and GET /health/ready answers 503, so that a load balancer sends no more. Write the time that your load balancer needs to notice, for example 10000; 0 where there is no load balancer.',
    },
    drain_ms: {
      type: 'integer',
      minimum: 0,
      maximum: longestMs,
      default: 120000,
      description: 'Time that running requests get to end when the gateway stops, in milliseconds.',
    },
  },
} as const satisfies JSONSchema;

/** `server.reasoning_fields`, and that of one key. */
export const reasoningFields = {
  type: 'array',
  minItems: 1,
  uniqueItems: true,
  items: { type: 'string', enum: ['reasoning', 'reasoning_content'] },
  description: 'Names under which chat replies have the text of the reasoning, for example [reasoning] for clients that show both.',
} as const satisfies JSONSchema;

/** The `server` block. */
export const serverSchema = {
  type: 'object',
  description: 'Where the gateway listens, where it keeps its data, and what it refuses.',
  additionalProperties: false,
  default: {},
  properties: {
    host: {
      type: 'string',
      minLength: 1,
      default: '127.0.0.1',
      description: 'Address to listen on, for example 127.0.0.1. An address that other machines can reach, such as 0.0.0.0, needs `keys`.',
    },
    port: { type: 'integer', minimum: 0, maximum: 65535, default: 4000, description: 'Port to listen on; 0 takes any free port.' },
    workers: {
      anyOf: [
        { type: 'integer', minimum: 1, maximum: 256 },
        { type: 'string', enum: ['auto'] },
      ],
      default: 1,
      description:
        'Processes on this machine that serve the port: a number, or auto for one on each core. A change waits for a restart. With 1 the process that is started serves itself; with more it is their parent. Example: auto.',
    },
    tls: {
      type: 'object',
      additionalProperties: false,
      required: ['cert', 'key'],
      description:
        'Serves HTTPS, for those without a proxy: { cert: ./tls/fullchain.pem, key: ./tls/key.pem }. New connections use a renewed certificate as soon as both files have changed; whether there is TLS at all waits for a restart.',
      properties: {
        cert: {
          type: 'string',
          minLength: 1,
          description: 'PEM file with the certificate and its chain, relative to this file, for example ./tls/fullchain.pem.',
        },
        key: { type: 'string', minLength: 1, description: 'PEM file with the key, without a passphrase, for example ./tls/key.pem.' },
      },
    },
    data_dir: {
      type: 'string',
      minLength: 1,
      default: './data',
      description: 'Folder for the journal and the embedded store, relative to this file.',
    },
    require_keys: {
      type: 'boolean',
      default: false,
      description:
        'Whether callers need a key even where `keys` is empty, because their keys are kept in the store (docs/keys.md), for example true.',
    },
    admin_key: {
      type: 'string',
      minLength: 1,
      description:
        'Key for the dashboard, /api and /metrics, at least 16 characters, for example ${ADMIN_KEY}. Without it: where there are `keys`, the first start makes one and keeps it in data_dir; where there are none, programs on this machine need no key.',
    },
    admin_open: {
      type: 'boolean',
      default: false,
      description:
        'Whether programs on this machine see the dashboard, /api and /metrics without a key, although there are `keys`. A reverse proxy on this machine can look like such a program: leave it false behind one.',
    },
    cors: {
      type: 'object',
      additionalProperties: false,
      default: {},
      description:
        'Web pages that may ask the gateway from a browser, for example { origins: [https://app.example] }. They cannot ask the log and the dashboard.',
      properties: {
        origins: {
          type: 'array',
          default: [],
          items: { type: 'string' },
          description:
            'Origins, for example [https://app.example, "http://localhost:5173"]; "*" means all. A page can then send what its user can, so give its users keys of their own.',
        },
      },
    },
    allowed_hosts: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      default: [],
      description:
        'Names, besides localhost and the addresses of loopback, under which a gateway without `keys` answers, for example host.docker.internal. A gateway with keys answers under every name.',
    },
    trusted_proxies: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      default: [],
      description:
        'Addresses of the proxies before the gateway, as IP addresses or blocks of them, for example [10.0.0.0/8, "fd00::/8"]. What they write into X-Forwarded-For or Forwarded is the address of the client, in the log and where wrong admin keys are slowed. Without this list the address of the client is the address of the connection.',
    },
    log_addresses: {
      type: 'string',
      enum: ['none', 'masked', 'full'],
      default: 'masked',
      description:
        "How much of the clients' addresses the log keeps: none, masked (203.0.113.0 or 2001:db8:1::, without the part that names a machine) or full.",
    },
    fetch_images: {
      type: 'boolean',
      default: true,
      description:
        'Whether the gateway fetches images that callers name by an https address of the public internet, for providers that take only bytes (Gemini, Bedrock). With false such a request is refused. Example: false.',
    },
    reasoning_fields: { ...reasoningFields, default: ['reasoning', 'reasoning_content'] },
    finish_reason: {
      type: 'string',
      enum: ['openai', 'unified'],
      default: 'openai',
      description: 'Values of `finish_reason` in answers: openai (stop, length, ...) or unified (completed, length_limit, ...).',
    },
    limits: limitsSchema,
  },
} as const satisfies JSONSchema;

/** The `server` block after it passed the schema, with its defaults. */
export type ServerBlock = FromSchema<typeof serverSchema>;
