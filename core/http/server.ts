/**
 * HTTP in, HTTP out: h3 finds the route, the pipeline answers. Everything that is not an answer has one error shape.
 * cost: completions that come over a socket skip h3's event and its web Response (test/bench).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { H3, toNodeHandler } from 'h3';
import type { H3Event, HTTPResponse } from 'h3';
import type { Config } from '../config.ts';
import { GatewayError } from '../errors.ts';
import { admit } from './access.ts';
import { Exchange } from '../pipeline/exchange.ts';
import { bytesOf, headersOf, readJson, sourceOf, watch, watchResponse } from './inbound.ts';
import { closing, letGo, nodeReply, webReply } from './outflow.ts';
import { complete, refusal, refuse } from '../pipeline/pipeline.ts';
import type { Machine } from '../pipeline/pipeline.ts';
import { isStreamedBody } from '../pipeline/answer.ts';
import type { Answer } from '../pipeline/answer.ts';
import type { Door } from '../pipeline/door.ts';
import type { Endpoint } from './routes.ts';

export interface Serving {
  readonly config: Config;
  readonly machine: Machine;
  readonly endpoints: readonly Endpoint[];
  readonly doors: readonly Door[];
  readonly clock: () => number;
}

export interface Service {
  /** For tests and embedding: no socket needed. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly node: (request: IncomingMessage, response: ServerResponse) => void;
  /** The answer to what is no request: a fault of the HTTP parser. */
  refuse(error: GatewayError): Promise<Answer>;
  /** Ends a request whose body turns out to be broken; this reply of its own says so, unless it has begun. */
  abort(error: GatewayError, reply: ServerResponse): void;
  /** Requests under way. */
  readonly running: ReadonlySet<Exchange>;
  /** From now on every new request is refused. */
  drain(): void;
}

/** Which request a reply is for. Of former services too: a body may be on the way while the config is reloaded. */
const requestOf = new WeakMap<ServerResponse, Exchange>();

function hold(response: ServerResponse, exchange: Exchange): void {
  requestOf.set(response, exchange);
  // an idle connection keeps its last reply, which is not to keep the texts of its request
  response.once('close', () => requestOf.delete(response));
  letGo(response, exchange);
}

export function createService(serving: Serving): Service {
  const { config, machine, clock, doors } = serving;
  const desk = new Desk(machine);
  const begin = (method: string, path: string, headers: Exchange['headers']): Exchange => new Exchange({ method, path, headers, config, createdAt: clock() });
  const app = createApp(serving, { desk, begin: (event) => begin(event.req.method, event.url.pathname, headersOf(event)) });
  const viaH3 = toNodeHandler(app);
  const byPath = new Map(doors.map((door) => [door.path, door]));

  return {
    fetch: async (request) => await app.fetch(request),
    node(request, response) {
      const door = request.method === 'POST' ? byPath.get(request.url ?? '') : undefined;
      if (door === undefined) {
        void viaH3(request, response);
        return;
      }
      const exchange = begin('POST', door.path, request.headers as Exchange['headers']);
      const body = (): Promise<unknown> => readJson(request, exchange);
      hold(response, exchange);
      const answering = desk.attend(exchange, watchResponse(response, exchange), () => desk.complete(exchange, { door, body }));
      answering
        .then((answer) => nodeReply(answer, response))
        .catch((error: unknown) => {
          machine.logger.error('a reply could not be written', { request: exchange.id, error });
          response.destroy();
        });
    },
    refuse: async (error) => await refuse(begin('', '', {}), error, machine),
    abort: (error, reply) => requestOf.get(reply)?.abort(error),
    running: desk.running,
    drain: () => desk.drain(),
  };
}

/** Who is being served, and whether anybody still is. */
class Desk {
  readonly running = new Set<Exchange>();
  /** Streams that go on for as long as somebody watches: the gateway does not wait for their end. */
  readonly endless = new WeakSet<Exchange>();
  readonly #machine: Machine;
  isDraining = false;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** `unwatch` takes back what the client's leaving is watched by. Never rejects. */
  async attend(exchange: Exchange, unwatch: () => void, work: () => Promise<Answer>): Promise<Answer> {
    this.running.add(exchange);
    let answer: Answer;
    try {
      answer = await work();
    } catch (thrown) {
      answer = refused(thrown, exchange, this.#machine);
    }
    const done = (): void => {
      unwatch();
      this.running.delete(exchange);
    };
    if (answer.body instanceof ReadableStream || isStreamedBody(answer.body)) exchange.whenClosed(done);
    else done();
    return answer;
  }

  async complete(exchange: Exchange, how: { readonly door: Door; readonly body: () => Promise<unknown> }): Promise<Answer> {
    return this.isDraining ? await refuse(exchange, stopped(), this.#machine) : await complete(exchange, { ...how, machine: this.#machine });
  }

  drain(): void {
    this.isDraining = true;
    for (const exchange of this.running) if (this.endless.has(exchange)) exchange.abort(stopped());
  }
}

type Work = (exchange: Exchange, event: H3Event) => Promise<Answer>;

function createApp({ doors, endpoints, machine }: Serving, { desk, begin }: { desk: Desk; begin: (event: H3Event) => Exchange }): H3 {
  const serve = async (event: H3Event, work: Work): Promise<HTTPResponse> => {
    const exchange = begin(event);
    const response = event.runtime?.node?.res as ServerResponse | undefined;
    if (response !== undefined) hold(response, exchange);
    const answer = await desk.attend(exchange, watch(event, exchange), () => work(exchange, event));
    return await webReply(answer, { id: exchange.id, isHead: event.req.method === 'HEAD' });
  };
  const malformed = async (thrown: unknown, event: H3Event): Promise<HTTPResponse> => {
    const exchange = begin(event);
    return await webReply(await refuse(exchange, GatewayError.from(fromHttp(thrown)), machine), { id: exchange.id, isHead: false });
  };
  const app = new H3({ silent: true, onError: malformed });
  const allowed = new Map<string, string[]>();
  const on = (method: Endpoint['method'] | 'HEAD', path: string, work: Work): void => {
    app.on(method, path, (event) => serve(event, work));
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
  };

  for (const door of doors) on('POST', door.path, (exchange, event) => desk.complete(exchange, { door, body: () => readJson(sourceOf(event), exchange) }));
  for (const endpoint of endpoints) {
    const work = workOf(endpoint, { desk, hooks: machine.hooks });
    on(endpoint.method, endpoint.path, work);
    if (endpoint.method === 'GET') on('HEAD', endpoint.path, work);
  }
  for (const [path, methods] of allowed) app.all(path, (event) => serve(event, (exchange) => refuse(exchange, wrongMethod(exchange, methods), machine)));
  app.all('/**', (event) => serve(event, (exchange) => refuse(exchange, unknownUrl(exchange), machine)));
  return app;
}

const workOf = (endpoint: Endpoint, { desk, hooks }: { desk: Desk; hooks: Machine['hooks'] }): Work => async (exchange, event) => {
  if (desk.isDraining) throw stopped();
  const principal = await admit(endpoint, exchange, hooks);
  const answer = await endpoint.handle({ arrived: exchange, principal, params: paramsOf(event), query: event.url.searchParams, body: () => unlessAborted(exchange, bytesOf(sourceOf(event), exchange)) });
  if (!(answer.body instanceof ReadableStream)) return answer;
  if (answer.isEndless === true) desk.endless.add(exchange);
  return { ...answer, body: closing(answer.body, { exchange, mayEnd: answer.isEndless === true }) };
};

/** Decoded; one that cannot be was refused by h3. */
const paramsOf = ({ context }: H3Event): Record<string, string> => Object.fromEntries(Object.entries(context.params ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]));

/** What is left of a broken body never comes. */
const unlessAborted = <T>({ stop }: Exchange, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    stop.on(() => reject(stop.reason));
    work.then(resolve, reject);
  });

const stopped = (): GatewayError => new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000, headers: { connection: 'close' } });

function refused(thrown: unknown, { id, path }: Exchange, { logger }: Machine): Answer {
  const error = GatewayError.from(thrown, id);
  if (error.code === 'internal_error') logger.error('an endpoint met a bug', { request: id, path, error: error.cause ?? error });
  return refusal(error, id);
}

/** What h3 refuses by itself: an address whose encoding is broken. */
function fromHttp(thrown: unknown): unknown {
  const status = (thrown as { status?: number }).status ?? 500;
  return status >= 400 && status < 500 ? new GatewayError('bad_request', 'The address is malformed: its percent encoding is broken.', { cause: thrown }) : thrown;
}

const wrongMethod = ({ method, path }: Exchange, methods: readonly string[]): GatewayError =>
  new GatewayError('method_not_allowed', `${method} is not allowed on ${path}; use ${methods.filter((name) => name !== 'HEAD').join(' or ')}.`, { headers: { allow: methods.join(', ') } });

const unknownUrl = ({ method, path }: Exchange): GatewayError =>
  new GatewayError('unknown_url', `There is no ${method} ${path.slice(0, 200)}. Chat requests go to POST /v1/chat/completions.`);

