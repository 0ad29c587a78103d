/**
 * HTTP in, HTTP out. A completion request is served from Node's request and response by a door; h3 finds the route of everything
 * else. Every error has the same shape.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { H3, HTTPResponse, toNodeHandler } from 'h3';
import type { H3Event } from 'h3';
import type { CallerKeys } from '../api-key.ts';
import type { Config } from '../config.ts';
import { GatewayError } from '../errors.ts';
import { nearest } from '../names.ts';
import { admit, createHostCheck, dryRunCaller } from './access.ts';
import { sessionWatch } from './admin.ts';
import { Exchange } from '../pipeline/exchange.ts';
import { bodyOf, createClientAddress, nodePairOf, noSender, readBytes, readJson, senderOf, toSender } from './inbound.ts';
import type { NodePair, Sender } from './inbound.ts';
import { closeToOtherOrigins, createCors } from './cors.ts';
import { closingItsRequest, dropSlowReader, dropStalledReader, toWebResponse, writeCompletion } from './outflow.ts';
import { complete, identify, refuse } from '../pipeline/pipeline.ts';
import { pendingTaps } from '../taps/tap.ts';
import { unlessCancelled } from '../cancellation.ts';
import { compressed, unlessKnown } from '../log/compressed.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Answer, Completion } from '../pipeline/answer.ts';
import type { Door } from '../pipeline/door.ts';
import type { Endpoint, OwnedEndpoint } from './routes.ts';
import type { InFlight } from './in-flight.ts';
import { RunningRequests, shuttingDown } from './running.ts';
import type { SignIns } from './sign-ins.ts';
import type { Slots } from './slots.ts';

interface ServiceParts {
  readonly config: Config;
  readonly pipeline: Pipeline;
  readonly endpoints: readonly OwnedEndpoint[];
  readonly doors: readonly Door[];
  readonly clock: () => number;
  readonly inFlight: InFlight;
  /** Checks admin keys, and delays the answers to wrong ones. */
  readonly signIns: SignIns;
  readonly keys: CallerKeys;
}

/** Answers the requests of one gateway. A reload makes another. */
export interface Service {
  /** Serves a request that came over a socket. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void;
  /** Asks a plain endpoint from within this process: a command reads the log in this way. Completions need a socket. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The answer to bytes that are not a request: a fault of the HTTP parser. */
  refuse(error: GatewayError): Promise<Answer<string>>;
  /** Counts a connection that is closed because too many requests wait on it. */
  turnAway(): void;
  /** Ends the request of this reply, because its body turned out to be broken. The reply says so, unless it has begun. */
  cancel(error: GatewayError, reply: ServerResponse): void;
  /** Requests that are being served. */
  readonly running: Slots<Exchange>;
  /** Ends the endless streams, such as the live tail of the log. Their clients connect again. */
  endTails(): void;
  /** From now on every new request is refused. */
  drain(): void;
}

/**
 * The request of each reply, those of former services too: a body may be on its way while the config is reloaded.
 * cost: a WeakMap that each request fills is 1 % of the CPU of a plain request.
 */
const exchangeOf = Symbol('exchange');
type Reply = ServerResponse & { [exchangeOf]?: Exchange | undefined };

/** Ties a request to its connection: it ends when its client leaves. Returns the function to call once the request is answered. */
function connect(response: Reply, exchange: Exchange): () => void {
  response[exchangeOf] = exchange;
  let isAnswered = false;
  response.once('close', () => {
    // an idle connection keeps its last reply, and must not keep the texts of its request with it
    response[exchangeOf] = undefined;
    if (!isAnswered) {
      exchange.cancel(new GatewayError('client_closed', 'The client closed the connection before the answer was complete.'));
    }
  });
  dropSlowReader(response, exchange);
  return () => void (isAnswered = true);
}

/** What the routes of a service share. */
interface Shared extends ServiceParts {
  readonly running: RunningRequests;
  begin(method: string, path: string, sender: Sender): Exchange;
}

export function createService(parts: ServiceParts): Service {
  const { config, pipeline, clock, doors, inFlight } = parts;
  const running = new RunningRequests(pipeline.logger);
  const addressOf = createClientAddress(config.server);
  const begin: Shared['begin'] = (method, path, sender) =>
    new Exchange({ method, path, address: addressOf(sender), headers: sender.headers, config, createdAt: clock() });
  const shared = { ...parts, running, begin };
  const app = createApp(shared);
  const byH3 = toNodeHandler(app);
  const doorAt = new Map(doors.map((door) => [door.path, door]));
  const checkHost = createHostCheck(config.server);
  const answersPreflight = createCors(config.server);
  return {
    node(request, response) {
      // clients join a base URL that ends with a slash and a path that begins with one. h3 would read what follows two slashes as a host
      if (request.url?.startsWith('//') === true) request.url = request.url.replace(/^\/+(?=\w)/, '/');
      const refusal = checkHost(request.headers.host);
      // cost: the usual spelling of a door's path needs no event of h3 (test/bench)
      const door = request.method === 'POST' ? doorAt.get(request.url ?? '') : undefined;
      if (refusal !== null) void serveRefusal(refusal, { request, response }, shared);
      else if (!answersPreflight(request, response)) {
        if (door === undefined) void serveByH3(byH3, { request, response }, shared);
        else void serveDoor(door, { request, response }, shared);
      }
    },
    fetch: async (request) => await app.fetch(request),
    refuse: async (error) => await refuse(begin('', '', noSender), error, pipeline),
    turnAway: () => void inFlight.refuse('connection'),
    cancel: (error, reply: Reply) => reply[exchangeOf]?.cancel(error),
    running: running.exchanges,
    endTails: () => running.endTails(),
    drain: () => running.drain(),
  };
}

/** Serves a completion request. Resolves when its answer is written. Never rejects. */
async function serveDoor(
  door: Door,
  { request, response, params }: NodePair & Partial<Pick<Exchange, 'params'>>,
  shared: Shared,
): Promise<void> {
  const { begin, running, pipeline, inFlight } = shared;
  const exchange = begin('POST', door.path, toSender(request));
  exchange.door = door;
  if (params !== undefined) exchange.params = params;
  const body = (): Promise<unknown> => readJson(request, exchange);
  const served = (): Promise<Completion> => complete(exchange, { door, body, pipeline });
  const work = (): Promise<Completion> => {
    if (running.isDraining) return refuse(exchange, shuttingDown(), pipeline);
    if (!inFlight.hasRoom(exchange.config.server.limits)) return refuse(exchange, inFlight.refuse('requests'), pipeline);
    inFlight.enter(exchange);
    return exchange.isDryRun ? identified(exchange, shared, served) : served();
  };
  const disconnect = connect(response, exchange);
  const whenOver = (): void => {
    inFlight.leave(exchange);
    disconnect();
  };
  try {
    await writeCompletion(await running.serve(exchange, { work, whenOver }), response);
  } catch (error) {
    pipeline.logger.error('a reply could not be written', { request: exchange.id, error });
    response.destroy();
  }
}

/** Serves a dry run, once it is known whether an admin asks, who may ask where the request of any caller would go. */
async function identified(exchange: Exchange, { signIns, keys, pipeline }: Shared, served: () => Promise<Completion>): Promise<Completion> {
  try {
    exchange.principal = await dryRunCaller(exchange, { signIns, logger: pipeline.logger, keys });
  } catch (thrown) {
    return await refuse(exchange, GatewayError.from(thrown, exchange.id), pipeline);
  }
  return await served();
}

/** Serves a request whose route h3 finds. Never rejects. */
async function serveByH3(byH3: ReturnType<typeof toNodeHandler>, pair: NodePair, shared: Shared): Promise<void> {
  try {
    await byH3(pair.request, pair.response);
  } catch (thrown) {
    if (pair.response.headersSent) return void pair.response.destroy();
    // safety: h3 makes a URL of the address and the host before it catches errors, and an error that nobody catches ends the gateway
    const isBadAddress = (thrown as { code?: unknown }).code === 'ERR_INVALID_URL';
    await serveRefusal(isBadAddress ? badAddress(thrown) : GatewayError.from(thrown), pair, shared);
  }
}

const badAddress = (cause: unknown): GatewayError =>
  new GatewayError('bad_request', 'The address or the Host header of the request is malformed.', { cause });

/** Answers a request with an error, whatever it asks for. Its body is not kept. Never rejects. */
async function serveRefusal(error: GatewayError, { request, response }: NodePair, { begin, running, pipeline }: Shared): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const exchange = begin(request.method ?? '', path, toSender(request));
  await writeCompletion(
    await running.serve(exchange, { work: () => refuse(exchange, error, pipeline), whenOver: connect(response, exchange) }),
    response,
  );
}

type Work = (exchange: Exchange, event: H3Event) => Promise<Answer>;

const noSocket = (): void => {};

function createApp(shared: Shared): H3 {
  const { doors, endpoints, pipeline, running } = shared;
  const begin = (event: H3Event): Exchange => shared.begin(event.req.method, event.url.pathname, senderOf(event));
  const serve = async (event: H3Event, work: Work): Promise<HTTPResponse> => {
    const exchange = begin(event);
    const pair = nodePairOf(event);
    const answer = await running.serve(exchange, {
      work: () => work(exchange, event),
      whenOver: pair === null ? noSocket : connect(pair.response, exchange),
    });
    return await toWebResponse(answer, { id: exchange.id, isHead: event.req.method === 'HEAD' });
  };
  const malformed = async (thrown: unknown, event: H3Event): Promise<HTTPResponse> => {
    const exchange = begin(event);
    return await toWebResponse(await refuse(exchange, GatewayError.from(fromHttp(thrown)), pipeline), { id: exchange.id, isHead: false });
  };
  const app = new H3({ silent: true, onError: malformed });
  const allowed = new Map<string, string[]>();
  const on = (method: Endpoint['method'] | 'HEAD', path: string, handle: (event: H3Event) => Promise<HTTPResponse>): void => {
    app.on(method, path, handle);
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
  };

  for (const door of doors) on('POST', door.path, (event) => atDoor(door, event, shared));
  for (const endpoint of endpoints) {
    const work = workOf(endpoint, shared);
    on(endpoint.method, endpoint.path, (event) => serve(event, work));
    if (endpoint.method === 'GET') on('HEAD', endpoint.path, (event) => serve(event, work));
  }
  for (const [path, methods] of allowed) {
    const door = doors.find((one) => one.path === path) ?? null;
    const refuseMethod = refusing((exchange) => wrongMethod(exchange, { door: door ?? clientsDoor(exchange, doors), methods }), pipeline);
    app.all(path, (event) => serve(event, refuseMethod));
  }
  const refused = new Set(endpoints.filter(isRefusal).map(({ path }) => path));
  const plain = [...allowed.keys()].filter((path) => !/[:*]/.test(path) && !refused.has(path));
  const refusePath = refusing((exchange) => unknownUrl(exchange, { doors, known: plain }), pipeline);
  app.all('/**', (event) => serve(event, refusePath));
  return app;
}

/** Whether an endpoint says nothing but why the gateway does not have it: no hint leads there. */
const isRefusal = ({ about }: Endpoint): boolean => about?.status?.every((status) => status >= 400) === true;

/** A completion request whose path only h3 recognises: it has a query, or escaped characters. */
async function atDoor(door: Door, event: H3Event, shared: Shared): Promise<HTTPResponse> {
  const pair = nodePairOf(event);
  if (pair === null) throw new TypeError(`POST ${door.path} needs a socket: fetch() asks plain endpoints only.`);
  await serveDoor(door, { ...pair, params: paramsOf(event) }, shared);
  // the reply is written, and h3 finds nothing left to write
  return new HTTPResponse(null);
}

/** A refusal of a request that no door and no endpoint takes. One with a key that is known is on record as its owner's. */
const refusing =
  (errorOf: (exchange: Exchange) => GatewayError, pipeline: Pipeline): Work =>
  async (exchange) => {
    await identify(exchange, pipeline);
    return await refuse(exchange, errorOf(exchange), pipeline);
  };

function workOf(endpoint: OwnedEndpoint, { running, pipeline, signIns, clock }: Shared): Work {
  const pending = { plugin: endpoint.plugin, hook: `${endpoint.method} ${endpoint.path}` };
  return async (exchange, event) => {
    const pair = nodePairOf(event);
    if (pair !== null && endpoint.auth === 'admin') closeToOtherOrigins(pair.response);
    if (running.isDraining) throw shuttingDown();
    exchange.expire(exchange.config.routing.default);
    const principal = await unlessCancelled(
      exchange.cancellation,
      admit(endpoint, exchange, { hooks: pipeline.hooks, signIns, logger: pipeline.logger }),
    );
    let whole: Promise<Buffer> | undefined;
    const read = async (): Promise<Buffer> => {
      // while the body is read, the gateway waits for the client, so a timeout is not a fault of the plugin
      pendingTaps.delete(exchange.view);
      try {
        // safety: the rest of a broken body never comes, so without `unlessCancelled` a read would wait for ever
        return await unlessCancelled(exchange.cancellation, readBytes(bodyOf(event), exchange, endpoint.bodyLimit));
      } finally {
        pendingTaps.set(exchange.view, pending);
      }
    };
    // safety: the bytes come once, so a second read would wait for ever
    const body = (): Promise<Buffer> => (whole ??= read());
    pendingTaps.set(exchange.view, pending);
    const answer = await unlessCancelled(
      exchange.cancellation,
      endpoint.handle({
        arrived: exchange.view,
        principal,
        params: paramsOf(event),
        query: event.url.searchParams,
        address: exchange.address,
        body,
      }),
      dropLate,
    );
    exchange.stopClock();
    const coded = endpoint.path.startsWith('/api/') ? await shortened(answer, endpoint, exchange) : answer;
    if (!(coded.body instanceof ReadableStream)) return coded;
    const isEndless = coded.isEndless === true;
    if (isEndless) running.endless.add(exchange);
    if (pair !== null) dropStalledReader(pair.response);
    const broke = (error: unknown): void =>
      pipeline.logger.error('an endpoint broke off its answer', {
        request: exchange.id,
        plugin: endpoint.plugin,
        path: endpoint.path,
        error,
      });
    const mayGoOn = isEndless && endpoint.auth === 'admin' ? sessionWatch(exchange, { signIns, clock }) : always;
    return { ...coded, body: closingItsRequest(coded.body, { exchange, isEndless, mayGoOn, broke }) };
  };
}

/** The answers for the dashboard and for scripts are large, repeat themselves, and are asked for again and again. */
async function shortened(answer: Answer, { method }: Endpoint, { headers }: Exchange): Promise<Answer> {
  const news = method === 'GET' ? unlessKnown(answer, headers['if-none-match']) : answer;
  return await compressed(news, headers['accept-encoding']);
}

const always = (): boolean => true;

/** Cancels the stream of an answer that nobody reads, because its request is over. The stream then frees what it holds. */
const dropLate = ({ body }: Answer): void => void (body instanceof ReadableStream && body.cancel().catch(() => {}));

/** The parameters of the path, decoded. h3 has refused a path that cannot be decoded. */
const paramsOf = ({ context }: H3Event): Record<string, string> =>
  Object.fromEntries(Object.entries(context.params ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]));

/** h3 itself refuses one thing: an address whose percent encoding is broken. */
function fromHttp(thrown: unknown): unknown {
  const status = (thrown as { status?: number }).status ?? 500;
  return status >= 400 && status < 500
    ? new GatewayError('bad_request', 'The address is malformed: its percent encoding is broken.', { cause: thrown })
    : thrown;
}

/** The door whose format the client speaks, as its headers say; null where they do not. */
const clientsDoor = ({ headers }: Exchange, doors: readonly Door[]): Door | null =>
  doors.find(({ clientHeader }) => clientHeader !== undefined && headers[clientHeader] !== undefined) ?? null;

/** The error has the form of the door that has the path. */
function wrongMethod(exchange: Exchange, { door, methods }: { door: Door | null; methods: readonly string[] }): GatewayError {
  const { method, path } = exchange;
  exchange.door = door;
  return new GatewayError(
    'method_not_allowed',
    `${method} is not allowed on ${path.slice(0, 200)}; use ${methods.filter((name) => name !== 'HEAD').join(' or ')}.`,
    { headers: { allow: methods.join(', ') } },
  );
}

/**
 * The error has the form of the door whose path the unknown one begins with, because it may be another operation of the same API, or
 * the form that the client speaks.
 * @param known paths without parameters, for a hint
 */
function unknownUrl(exchange: Exchange, { doors, known }: { doors: readonly Door[]; known: readonly string[] }): GatewayError {
  const { method, path } = exchange;
  exchange.door = doors.find((door) => path.startsWith(`${door.path}/`)) ?? clientsDoor(exchange, doors);
  const near = nearest(path, known);
  return new GatewayError(
    'unknown_url',
    `There is no ${method} ${path.slice(0, 200)}. ${near === null ? 'Chat requests go to POST /v1/chat/completions.' : `Did you mean "${near}"?`}`,
  );
}
