/**
 * The HTTP endpoints that plugins add. An endpoint with a fault refuses the start,
 * because the fault would otherwise show only later, or break other endpoints.
 */
import { H3 } from 'h3';
import { GatewayError } from '../errors.ts';
import { messageOf } from '../exit.ts';
import type { Answer } from '../pipeline/answer.ts';
import type { Door } from '../pipeline/door.ts';
import type { Endpoint, OwnedEndpoint, Route, Routes } from '../http/routes.ts';
import { framingHeaders, isHeaderName, isHeaderValue } from '../names.ts';
import { isFields, kindOf } from '../wire/fields.ts';

export function createRoutes() {
  const endpoints: OwnedEndpoint[] = [];
  const doors: Door[] = [];
  const routes: Route[] = [];
  const router = new H3({ silent: true });
  let isSealed = false;
  const take = (route: Route): void => {
    // the port serves only the endpoints that existed at the start
    if (isSealed) throw new Error(`the plugin "${route.plugin}" adds ${route.method} ${route.path} after the start; add it in apply()`);
    const other = routes.find((one) => one.method === route.method && shapeOf(one.path) === shapeOf(route.path));
    if (other !== undefined) {
      throw new Error(
        `${route.method} ${route.path} is an endpoint of ${other.plugin} already; choose another path, or leave one of the two plugins out`,
      );
    }
    checkPath(router, route);
    routes.push(route);
  };
  const routesOf = (plugin: string): Routes => ({
    add(endpoint) {
      const fault = faultOf(endpoint);
      if (fault !== null) throw unusable(endpoint, fault);
      take({ ...routeOf(plugin, endpoint), isDoor: false });
      endpoints.push(blaming(plugin, endpoint));
    },
    addDoor(door) {
      const missing = partsOfDoor.find((part) => typeof door[part] !== 'function');
      if (missing !== undefined) throw unusable({ method: 'POST', path: door.path }, `\`${missing}\` must be a function`);
      take({ ...routeOf(plugin, { method: 'POST', ...door }), isDoor: true });
      doors.push(door);
    },
    all: () => routes,
  });
  const seal = (): void => void (isSealed = true);
  return { endpoints, doors, routesOf, seal };
}

const unusable = ({ method, path }: Pick<Route, 'method' | 'path'>, fault: string): Error =>
  new Error(`the endpoint ${method} ${path} cannot be used: ${fault}`);

/**
 * Throws where the router does not accept the path.
 * safety: otherwise the router would throw after all plugins have started, without
 * the name of the plugin, and nothing would close what the plugins have opened.
 */
function checkPath(router: H3, { method, path }: Route): void {
  try {
    router.on(method, path, () => null);
  } catch (error) {
    throw unusable({ method, path }, messageOf(error));
  }
}

/** The path without the names of its parameters. */
const shapeOf = (path: string): string => path.replaceAll(/:\w+/g, ':');

const routeOf = (
  plugin: string,
  { method, path, auth = 'key', about = null }: Pick<Endpoint, 'method' | 'path' | 'auth'> & { readonly about?: Route['about'] },
): Omit<Route, 'isDoor'> => ({ plugin, method, path, auth, about });

/** The functions without which a door fails at its first request. */
const partsOfDoor = ['parse', 'encoder', 'encode'] as const;

const callers: ReadonlySet<unknown> = new Set(['key', 'admin', 'none']);

/** What is wrong with an endpoint that somebody wrote, perhaps without a type checker; null: nothing. */
function faultOf({ method, path, auth = 'key', bodyLimit = 0, about, handle }: Endpoint): string | null {
  // safety: the router takes an endpoint without a method for one of every method
  if (typeof method !== 'string') return '`method` must be GET, POST, PATCH or DELETE';
  if (typeof path !== 'string') return '`path` must be a text, such as /v1/things/:id';
  // safety: where the limit is no number, no body counts as too large
  if (!(bodyLimit >= 0)) return '`bodyLimit` must be a number of bytes';
  if (typeof handle !== 'function') return '`handle` must be a function';
  if (!callers.has(auth)) return '`auth` must be "key", "admin" or "none"';
  if (about !== undefined && (typeof about?.summary !== 'string' || !isFields(about.answer))) {
    return '`about` must have a `summary`, and an `answer` by media type';
  }
  return null;
}

/** The endpoint, with the plugin's name on all errors that are not meant for the caller. */
const blaming = (plugin: string, endpoint: Endpoint): OwnedEndpoint => ({
  ...endpoint,
  plugin,
  async handle(request) {
    try {
      return sound(await endpoint.handle(request));
    } catch (cause) {
      throw GatewayError.is(cause)
        ? cause
        : new GatewayError('plugin_error', `The plugin "${plugin}" failed to answer.`, { plugin, cause });
    }
  },
});

const isHeader = (name: string, value: string | readonly string[] | undefined): boolean =>
  typeof value !== 'object' && isHeaderName(name) && isHeaderValue(String(value));
const isBody = (body: unknown): boolean =>
  (body ?? null) === null || typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;

/**
 * Whether the server writes this header. The length of a stream is known to its plugin alone.
 * safety: with a second header of this kind, a proxy and the gateway disagree about where the next answer begins.
 */
const isOfServer = (name: string, body: unknown): boolean =>
  framingHeaders.has(name) && !(name === 'content-length' && body instanceof ReadableStream);

/**
 * The answer, with an empty text where it has no body.
 * safety: an answer of another shape would fail later, in the server, where the plugin is no longer known.
 */
function sound(answer: Answer): Answer {
  if (!isFields(answer) || answer instanceof Response) {
    throw new TypeError(
      `the endpoint answered ${answer instanceof Response ? 'a Response' : kindOf(answer)}, and not { status, headers, body }`,
    );
  }
  const { status = 200, headers = {}, body } = answer;
  // an iterable, such as a Map, has no properties of its own, so its headers would be lost
  if (Symbol.iterator in (headers ?? {})) {
    throw new TypeError('the endpoint answered with headers that are no plain object, { name: value }');
  }
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(`the endpoint answered with the status ${String(status)}`);
  }
  if (!isBody(body)) throw new TypeError(`the endpoint answered with a body that is ${kindOf(body)}, and not a text, bytes or a stream`);
  const broken = Object.keys(headers ?? {}).find((name) => !isHeader(name, headers[name]));
  if (broken !== undefined) {
    throw new TypeError(`the endpoint answered with the header ${JSON.stringify(broken.slice(0, 100))}, which HTTP does not allow`);
  }
  const written = Object.keys(headers ?? {}).find((name) => isOfServer(name.toLowerCase(), body));
  if (written !== undefined) throw new TypeError(`the endpoint answered with the header "${written}", which the gateway writes itself`);
  if (body instanceof ReadableStream && body.locked) throw new TypeError('the endpoint answered with a stream that is read already');
  return { ...answer, body: body ?? '' };
}
