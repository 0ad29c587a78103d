/** Makes the OpenAPI document of a list of endpoints. */
import { readFileSync } from 'node:fs';
import type { Server } from '../../../core/config.ts';
import { adminCookie, isOpenToAdmins } from '../../../core/http/admin.ts';
import type { Route } from '../../../core/http/routes.ts';
import type { About, Shape } from '../../../core/pipeline/door.ts';
import { version } from '../../../core/version.ts';

type Schemas = Readonly<Record<string, object>>;

const description = `One request shape and one response shape in front of many model providers.

Every answer has \`x-request-id\`, the id under which the request is on record. A header \`X-Gateway-<Name>\` of a request is stored with it as metadata.
The answer to a request for a model names the provider in \`x-provider\`, and parameters that were changed or left out in \`x-adjusted\`.
Each endpoint that takes GET takes HEAD too.`;

const securitySchemes = {
  key: {
    type: 'http',
    scheme: 'bearer',
    description: 'The key of a caller; `x-api-key` takes it too. A gateway without `keys` asks for none.',
  },
  adminKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The admin key. A gateway without `keys` asks programs on its own machine for none.',
  },
  session: { type: 'apiKey', in: 'cookie', name: adminCookie, description: 'The session of the dashboard.' },
};

type Guard = Pick<Server, 'isGuarded' | 'adminKey' | 'adminOpen'>;

/** Who may ask, by `auth` of the endpoint. `{}` says that no key is needed. */
const securityOf = (server: Guard): Readonly<Record<Route['auth'], readonly object[]>> => ({
  none: [],
  key: server.isGuarded ? [{ key: [] }] : [{ key: [] }, {}],
  admin: isOpenToAdmins(server) ? [{ adminKey: [] }, { session: [] }, {}] : [{ adminKey: [] }, { session: [] }],
});

interface Facts {
  /** All codes that the gateway and its plugins may answer with. */
  readonly errorCodes: ReadonlySet<string>;
  readonly server: Guard;
}

export function documentOf(routes: readonly Route[], { errorCodes, server }: Facts): object {
  const security = securityOf(server);
  const paths = Map.groupBy(routes, ({ path }) => templateOf(path));
  const operationsOf = (all: readonly Route[]): object =>
    Object.fromEntries(all.map((route) => [route.method.toLowerCase(), operationOf(route, security[route.auth])]));
  const document = {
    openapi: '3.1.0',
    info: { title: 'Model Gateway', version, description },
    paths: Object.fromEntries(Array.from(paths, ([path, all]) => [path, operationsOf(all)])),
  };
  return { ...document, components: { securitySchemes, schemas: schemasOf(document, errorCodes) } };
}

/** `/v1/models/**:id` → `/v1/models/{id}` */
const templateOf = (path: string): string => path.replaceAll(/(?:\*\*)?:(\w+)/g, '{$1}');

type Where = 'query' | 'header';

const parametersOf = (where: Where, texts: Readonly<Record<string, string>>): object[] =>
  Object.entries(texts).map(([name, text]) => ({ name, in: where, description: text, schema: { type: 'string' } }));

const headerOfWords = (name: string, text: string, words: readonly string[]): object => ({
  name,
  in: 'header',
  description: text,
  schema: { type: 'string', enum: words },
});

/** The headers of every request for a model. */
const headersOfDoor = [
  headerOfWords(
    'x-dry-run',
    'true: no provider is asked. The answer is an `Explanation`: where the request would go, why, and what it would cost.',
    ['true', 'false'],
  ),
  headerOfWords(
    'x-cache',
    'on: a kept answer is used. refresh: a provider is asked, and its answer replaces the kept one. no-store: no kept answer is used, and none is kept.',
    ['on', 'no-store', 'refresh'],
  ),
  headerOfWords('x-log-bodies', 'off: the texts of the request and of its answer are not kept in the log.', ['on', 'off']),
  ...parametersOf('header', {
    'x-dry-run-key': 'With the admin key and `x-dry-run: true`: the name of the key as whose caller you ask; empty: without a key.',
    'x-request-id': 'Your own id of the request, kept on its record: 128 letters, digits and `_.:-` at most.',
  }),
];

function operationOf({ plugin, method, path, about, isDoor }: Route, security: readonly object[]): object {
  const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const words = path.split(/\W+/).filter((word) => word !== '');
  const { summary, query = {}, headers = {}, body, answer, status = [200], error = 'ErrorReply' } = about ?? unknown(plugin);
  const inHeaders = [...parametersOf('header', headers), ...(isDoor ? headersOfDoor : [])];
  const answers = status.map((code) => [
    code,
    {
      description: code < 400 ? 'The answer.' : 'The same answer, when a check fails.',
      content: contentOf(isDoor ? explainable(answer) : answer),
    },
  ]);
  return {
    operationId: [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(''),
    summary,
    tags: [plugin],
    security,
    parameters: [...inPath, ...parametersOf('query', query), ...inHeaders],
    ...(body !== undefined && { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: {
      ...Object.fromEntries(answers),
      default: { description: 'An error.', content: { 'application/json': { schema: schemaOf(error) } } },
    },
  };
}

const unknown = (plugin: string): About => ({ summary: `An endpoint of ${plugin}`, answer: { '*/*': null } });

/** OpenAPI 3.1 has no place for the schema of one event; `itemSchema` is the name that 3.2 gives it. */
function mediaOf(media: string, shape: Shape | null): object {
  if (shape === null) return {};
  return media === 'text/event-stream' ? { schema: { type: 'string' }, 'x-itemSchema': schemaOf(shape) } : { schema: schemaOf(shape) };
}

/** The answers of a door, with that of a dry run. */
const explainable = (answer: About['answer']): About['answer'] => {
  const plain = answer['application/json'];
  return typeof plain === 'string' ? { ...answer, 'application/json': [plain, 'Explanation'] } : answer;
};

const contentOf = (answer: About['answer']): object =>
  Object.fromEntries(Object.entries(answer).map(([media, shape]) => [media, mediaOf(media, shape)]));

const refTo = '#/components/schemas/';

function schemaOf(shape: Shape): object {
  if (typeof shape === 'string') return { $ref: refTo + shape };
  return Array.isArray(shape) ? { anyOf: (shape as string[]).map(schemaOf) } : shape;
}

const namesIn = (value: object): string[] =>
  Array.from(JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name = '']) => name);

/** The schemas that the document refers to, and those that these refer to. */
function schemasOf(document: object, errorCodes: ReadonlySet<string>): Schemas {
  const known = {
    ...(JSON.parse(readFileSync(new URL('types.json', import.meta.url), 'utf8')) as Schemas),
    ErrorReply: errorReply(errorCodes),
  };
  const needed = new Map<string, object>();
  const need = (value: object): void => {
    for (const name of namesIn(value)) {
      const schema = known[name as keyof typeof known] as object | undefined;
      if (schema === undefined) throw new Error(`"${name}" is not in types.json: npm run generate`);
      if (needed.has(name)) continue;
      needed.set(name, schema);
      need(schema);
    }
  };
  need(document);
  return Object.fromEntries([...needed].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const errorReply = (codes: ReadonlySet<string>): object => ({
  type: 'object',
  additionalProperties: false,
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      additionalProperties: false,
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string', description: 'For people; it may change.' },
        type: { type: 'string' },
        param: { type: ['string', 'null'], description: 'The parameter at fault.' },
        code: {
          type: 'string',
          description: `For programs. A refusal of a provider keeps the code of the provider; those of the gateway: ${[...codes].join(', ')}.`,
        },
      },
    },
  },
});
