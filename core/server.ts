/** HTTP in, HTTP out: h3 finds the route, the pipeline answers. Everything that is not an answer has one error shape. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { H3, HTTPResponse, toNodeHandler } from 'h3';
import type { H3Event } from 'h3';
import { parseJson, readBody } from './body.ts';
import { GatewayError } from './errors.ts';
import { Exchange } from './exchange.ts';
import type { Config } from './config.ts';
import { complete, refusal, refuse } from './pipeline.ts';
import type { Machine } from './pipeline.ts';
import type { Answer, Door, Endpoint } from './routes.ts';

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
  /** Answers a request that never became one: a fault of the HTTP parser. */
  refuse(error: GatewayError): Promise<Answer>;
  /** Requests under way. */
  readonly running: ReadonlySet<Exchange>;
  /** From now on every new request is refused. */
  drain(): void;
}

export function createService(serving: Serving): Service {
  const { config, machine, clock } = serving;
  const running = new Set<Exchange>();
  /** Streams of plain endpoints: they may go on for as long as somebody watches. */
  const endless = new WeakSet<Exchange>();
  let draining = false;
  const begin = (event: H3Event): Exchange => new Exchange({ method: event.req.method, path: event.url.pathname, headers: headersOf(event), config, createdAt: clock() });

  const serve = async (event: H3Event, work: (exchange: Exchange) => Promise<Answer>): Promise<HTTPResponse> => {
    const exchange = begin(event);
    const left = watch(event, exchange);
    running.add(exchange);
    let answer: Answer;
    try {
      answer = draining ? await refuse(exchange, stopped(), machine) : await work(exchange);
    } catch (thrown) {
      answer = refused(thrown, exchange, machine);
    }
    const { body } = answer;
    const done = (): void => {
      left();
      running.delete(exchange);
    };
    if (body instanceof ReadableStream) exchange.whenClosed(done);
    else done();
    const { status = 200, headers } = answer;
    return new HTTPResponse(event.req.method === 'HEAD' ? null : body, { status, statusText: STATUS_CODES[status] ?? '', headers: { 'x-request-id': exchange.id, ...headers } });
  };

  const app = new H3({ silent: true, onError: async (thrown, event) => toResponse(await refuse(begin(event), GatewayError.from(fromHttp(thrown)), machine)) });
  const allowed = new Map<string, string[]>();
  const on = (method: Endpoint['method'] | 'HEAD', path: string, work: (exchange: Exchange, event: H3Event) => Promise<Answer>): void => {
    app.on(method, path, (event) => serve(event, (exchange) => work(exchange, event)));
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
  };

  for (const door of serving.doors) {
    on('POST', door.path, (exchange, event) => complete(exchange, { door, machine, body: async () => readJson(event, exchange) }));
  }
  for (const endpoint of serving.endpoints) {
    const work = async (exchange: Exchange, event: H3Event): Promise<Answer> => {
      const answer = await endpoint.handle({ arrived: exchange, params: event.context.params ?? {}, query: event.url.searchParams, body: () => bytesOf(event, exchange) });
      if (!(answer.body instanceof ReadableStream)) return answer;
      endless.add(exchange);
      return { ...answer, body: closing(answer.body, exchange) };
    };
    on(endpoint.method, endpoint.path, work);
    if (endpoint.method === 'GET') on('HEAD', endpoint.path, work);
  }
  for (const [path, methods] of allowed) {
    app.all(path, (event) => serve(event, (exchange) => refuse(exchange, wrongMethod(exchange, methods), machine)));
  }
  app.all('/**', (event) => serve(event, (exchange) => refuse(exchange, unknownUrl(exchange), machine)));

  return {
    fetch: async (request) => await app.fetch(request),
    node: toNodeHandler(app),
    refuse: (error) => refuse(new Exchange({ method: '', path: '', headers: {}, config, createdAt: clock() }), error, machine),
    running,
    drain() {
      draining = true;
      for (const exchange of running) if (endless.has(exchange)) exchange.abort(stopped());
    },
  };
}

const stopped = (): GatewayError => new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000, headers: { connection: 'close' } });

function refused(thrown: unknown, { id, path }: Exchange, { logger }: Machine): Answer {
  const error = GatewayError.from(thrown, id);
  if (error.code === 'internal_error') logger.error('an endpoint met a bug', { request: id, path, error: error.cause ?? error });
  return refusal(error, id);
}

/** The stream of a plain endpoint: its request is over when it ends, breaks, or is let go, by its client or by us. */
function closing(body: ReadableStream<Uint8Array>, exchange: Exchange): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  // what is read after that is the end, and closes
  exchange.signal.addEventListener('abort', () => void reader.cancel(exchange.signal.reason).catch(() => {}), { once: true });
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        exchange.close();
        controller.close();
      } catch (thrown) {
        exchange.close();
        controller.error(thrown);
      }
    },
    async cancel(reason: unknown): Promise<void> {
      exchange.close();
      await reader.cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

const toResponse = ({ status, headers, body }: Answer): HTTPResponse => new HTTPResponse(body, { status: status ?? 200, headers: { ...headers } });

/** What h3 refuses by itself: an address that is none, say. */
function fromHttp(thrown: unknown): unknown {
  const status = (thrown as { status?: number }).status ?? 500;
  return status >= 400 && status < 500 ? new GatewayError('bad_request', 'The request is malformed.', { cause: thrown }) : thrown;
}

function headersOf(event: H3Event): Readonly<Record<string, string | undefined>> {
  const node = event.runtime?.node?.req;
  return node === undefined ? Object.fromEntries(event.req.headers) : (node.headers as Record<string, string | undefined>);
}

/** Aborts the exchange when the client leaves before its answer is complete. Returns the way to stop watching. */
function watch(event: H3Event, exchange: Exchange): () => void {
  const gone = (): void => exchange.abort(new GatewayError('client_closed', 'The client closed the connection before the answer was complete.'));
  const response = event.runtime?.node?.res;
  if (response === undefined) {
    if (event.req.signal.aborted) gone();
    else event.req.signal.addEventListener('abort', gone, { once: true });
    return () => event.req.signal.removeEventListener('abort', gone);
  }
  const onClose = (): void => {
    if (!response.writableFinished) gone();
  };
  response.once('close', onClose);
  return () => response.off('close', onClose);
}

async function bytesOf(event: H3Event, { headers, config }: Exchange): Promise<Buffer> {
  const source = event.runtime?.node?.req ?? event.req.body;
  return await readBody(source as Parameters<typeof readBody>[0], { limit: config.server.limits.body, announced: headers['content-length'] });
}

async function readJson(event: H3Event, exchange: Exchange): Promise<unknown> {
  const type = exchange.headers['content-type'];
  if (type === undefined || !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new GatewayError('unsupported_media_type', 'The content type must be application/json.');
  }
  const encoding = exchange.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new GatewayError('unsupported_media_type', 'A compressed request body is not accepted; send it as it is.');
  return parseJson(await bytesOf(event, exchange), exchange.config.server.limits.jsonDepth);
}

const wrongMethod = ({ method, path }: Exchange, methods: readonly string[]): GatewayError =>
  new GatewayError('method_not_allowed', `${method} is not allowed on ${path}; use ${methods.filter((name) => name !== 'HEAD').join(' or ')}.`, { headers: { allow: methods.join(', ') } });

const unknownUrl = ({ method, path }: Exchange): GatewayError =>
  new GatewayError('unknown_url', `There is no ${method} ${path.slice(0, 200)}. Chat requests go to POST /v1/chat/completions.`);
