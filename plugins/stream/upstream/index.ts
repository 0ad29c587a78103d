/**
 * Opens an attempt over HTTP: writes the request in the provider's dialect, sends it on that provider's own pool, and gives
 * back the answer as chunks. Decides at `open`, last. It speaks HTTP/1.1, a request at a time on a connection that is kept,
 * follows no redirect, keeps its own time for connecting, and repeats a request only where a reused connection was reset before
 * any byte of an answer.
 */
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { addressOf } from '../../../core/wire/address.ts';
import type { Provider } from '../../../core/config.ts';
import type { Attempt, Streaming } from '../../../core/pipeline/context.ts';
import type { Dialect, Target, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { version } from '../../../core/version.ts';
import { bodySource, failure, streamSource } from './answer.ts';
import type { Patience } from './connection.ts';
import { createConnection, isStaleConnection, unreachable } from './connection.ts';

const name = 'stream/upstream';

const sayAgainMs = 60_000;

interface Line {
  readonly pool: Pool;
  /** Says that requests wait for a connection, once a minute at most. */
  readonly busy: () => void;
  readonly origin: string;
  /** Of the base URL, without a slash at the end. */
  readonly prefix: string;
}

export default definePlugin({
  name,
  summary: 'asks providers over HTTP/1.1, in their dialect, on a pool of connections each',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, dialects, clock, logger }) {
    const lines = new Map<string, Line>();
    const lineTo = (provider: Provider): Line => {
      const open = lines.get(provider.id) ?? createLine(provider, { baseUrl: baseUrlOf(provider, dialects), logger });
      lines.set(provider.id, open);
      return open;
    };
    hooks.open.tapPromise({ name, stage: LATE }, async (context) => {
      const { provider, mapping, model } = context.attempt.candidate;
      const dialect = dialects.get(mapping.dialect ?? provider.dialect);
      if (dialect === undefined) return undefined;
      const target: Target = { provider, model, mapping, reasoning: context.attempt.reasoning };
      return await ask(context, { dialect, vendor: dialects.get(provider.dialect), target, line: lineTo(provider), clock });
    });
    return async () => {
      await Promise.all(Array.from(lines.values(), ({ pool }) => pool.destroy()));
    };
  },
});

function baseUrlOf(provider: Provider, dialects: ReadonlyMap<string, Dialect>): string {
  const url = addressOf(provider, dialects.get(provider.dialect));
  if (!url) throw new GatewayError('no_provider_available', `The provider "${provider.id}" has no address. Give it a base_url.`);
  return url;
}

function createLine({ id, connections }: Provider, { baseUrl, logger }: { baseUrl: string; logger: Logger }): Line {
  const { origin, pathname } = new URL(baseUrl);
  let quietUntil = 0;
  const busy = (): void => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + sayAgainMs;
    logger.warn('all connections to a provider are busy and requests wait for one; raise "connections" of its entry', { provider: id, connections });
  };
  // the time limits but for connecting are the core's: undici's own would end long thinking after five minutes.
  // with `allowH2`, requests to a provider that cannot be connected to wait in a row for one connection after the other
  const pool = new Pool(origin, { connections, factory: createConnection, allowH2: false, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000 });
  return { pool, busy, origin, prefix: pathname.replace(/\/$/, '') };
}

interface Asking {
  readonly dialect: Dialect;
  /** The provider's own dialect, which knows how its credentials go. */
  readonly vendor: Dialect | undefined;
  readonly target: Target;
  readonly line: Line;
  readonly clock: () => number;
}

async function ask(context: Streaming, asking: Asking): Promise<ChunkSource> {
  const { dialect, target } = asking;
  const wire = dialect.encode(context.request, target);
  const answer = await send(await authorised(wire, asking), asking.line, context.attempt);
  const { statusCode: status, headers, body } = answer;
  if (status >= 300 && status < 400) {
    body.destroy();
    throw new GatewayError('upstream_redirect', 'The provider answered with a redirect, which is not followed. Check its base_url.', { upstreamStatus: status });
  }
  const parts = { wire, dialect, target, limits: context.config.server.limits };
  if (status >= 400) throw await failure(answer, parts);
  const type = String(headers['content-type'] ?? '');
  if (type.startsWith('text/event-stream') || (context.request.stream && !type.startsWith('application/json') && !type.startsWith('text/'))) return await streamSource(answer, parts);
  return bodySource(answer, parts);
}

/** Over what the dialect sends: credentials, then the headers of the provider's entry, then a signature over all of it. */
async function authorised(wire: WireRequest, { vendor, target, line, clock }: Asking): Promise<WireRequest> {
  const { provider } = target;
  // a list that the dialect has put together may hold the entry's own value already
  const own = Object.entries(provider.headers).filter(([header, value]) => wire.headers[header]?.includes(value) !== true);
  const headers = { 'user-agent': `model-gateway/${version}`, 'accept-encoding': 'identity', ...wire.headers, ...vendor?.authorise?.(provider), ...Object.fromEntries(own) };
  if (vendor?.sign === undefined) return { ...wire, headers };
  const signature = await vendor.sign({ url: new URL(line.origin + line.prefix + wire.path), headers, body: wire.body, at: new Date(clock()) }, provider);
  return { ...wire, headers: { ...headers, ...signature } };
}

async function send(wire: WireRequest, { pool, busy, prefix }: Line, { stop, policy }: Attempt): Promise<Dispatcher.ResponseData> {
  let isTaken = false;
  const options: Dispatcher.RequestOptions & Patience = {
    method: 'POST',
    path: prefix + wire.path,
    headers: wire.headers,
    body: wire.body,
    signal: stop.emitter(),
    connectMs: policy.timeouts.connect,
    taken: () => void (isTaken = true),
  };
  for (let stale = 0; ; stale++) {
    try {
      const answering = pool.request(options);
      if (!isTaken) busy();
      return await answering;
    } catch (thrown) {
      if (stop.hasCome) throw stop.reason;
      // wire: a provider may close an idle connection at the moment it is used again; more than one may be stale
      if (stale >= 3 || !isStaleConnection(thrown)) throw unreachable(thrown);
    }
  }
}
