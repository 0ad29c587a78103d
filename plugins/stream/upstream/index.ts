/**
 * Opens an attempt over HTTP: encodes the request in the provider's dialect, sends it on the provider's pool of connections, and
 * returns the answer as chunks. It acts at `open`, after all other plugins. It speaks HTTP/1.1; a connection carries one request
 * at a time and stays open. It follows no redirect and has its own time limit for connecting. It sends a request again only where
 * a connection that was used before is closed before the first byte of the answer.
 */
import type { Pool } from 'undici';
import { addressOf } from '../../../core/wire/address.ts';
import type { Provider } from '../../../core/config.ts';
import type { Attempt, Streaming } from '../../../core/pipeline/context.ts';
import type { Dialect, SignedRequest, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { bodySource, failure, streamSource } from './answer.ts';
import type { ConnectionRequest } from './connection.ts';
import { createConnection, isStaleConnection, unreachable } from './connection.ts';
import { headersOf } from './headers.ts';
import { HttpAnswer } from './http-answer.ts';
import * as undici from './undici.ts';

const busyWarningMs = 60_000;

/** The connections to one provider, and its address. */
interface Upstream {
  readonly pool: Pool;
  /** Warns in the process log that requests wait for a connection, at most once a minute. */
  readonly warnBusy: () => void;
  readonly origin: string;
  /** The path of the base URL, without a slash at the end. */
  readonly prefix: string;
}

export default definePlugin({
  name: 'stream/upstream',
  summary: 'asks providers over HTTP/1.1, in their dialect, on a pool of connections each',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, dialects, clock, logger }) {
    const upstreams = new Map<string, Upstream>();
    const upstreamOf = (provider: Provider): Upstream => {
      const open = upstreams.get(provider.id) ?? createUpstream(provider, { baseUrl: baseUrlOf(provider, dialects), logger });
      upstreams.set(provider.id, open);
      return open;
    };
    hooks.open.tapPromise({ stage: LATE }, async (context) => {
      const { provider, mapping, model } = context.attempt.candidate;
      const dialect = dialects.get(mapping.dialect ?? provider.dialect);
      if (dialect === undefined) return undefined;
      const target: Target = { provider, model, mapping, reasoning: context.attempt.reasoning };
      return await ask(context, { dialect, vendor: dialects.get(provider.dialect), target, upstream: upstreamOf(provider), clock });
    });
    return async () => {
      await Promise.all(Array.from(upstreams.values(), ({ pool }) => pool.destroy()));
    };
  },
});

function baseUrlOf(provider: Provider, dialects: ReadonlyMap<string, Dialect>): string {
  const url = addressOf(provider, dialects.get(provider.dialect));
  if (!url) throw new GatewayError('no_provider_available', `The provider "${provider.id}" has no address. Give it a base_url.`);
  return url;
}

function createUpstream({ id, connections }: Provider, { baseUrl, logger }: { baseUrl: string; logger: Logger }): Upstream {
  const { origin, pathname } = new URL(baseUrl);
  let quietUntil = 0;
  const warnBusy = (): void => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + busyWarningMs;
    logger.warn('all connections to a provider are busy and requests wait for one; raise "connections" of its entry', { provider: id, connections });
  };
  // the core has all time limits except the one for connecting; undici's own limits would end a long reasoning phase after five minutes.
  // with `allowH2`, requests to a provider that does not accept connections would wait one after the other
  const pool = new undici.Pool(origin, { connections, factory: createConnection, allowH2: false, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000 });
  return { pool, warnBusy, origin, prefix: pathname.replace(/\/$/, '') };
}

/** What one attempt needs. */
interface AttemptParts {
  readonly dialect: Dialect;
  /** The dialect of the provider (a mapping may have another one). It adds the provider's credentials. */
  readonly vendor: Dialect | undefined;
  readonly target: Target;
  readonly upstream: Upstream;
  readonly clock: () => number;
}

/** A request with its whole path and all its headers. */
type Sent = Pick<SignedRequest, 'headers' | 'body'> & { readonly path: string };

async function ask(context: Streaming, parts: AttemptParts): Promise<ChunkSource> {
  const { dialect, vendor, target, upstream } = parts;
  const wire = dialect.encode(context.request, target);
  const request: Sent = { path: upstream.prefix + wire.path, headers: headersOf(wire, vendor, target.provider), body: wire.body };
  const sent = vendor?.sign === undefined ? request : await signed(request, vendor, parts);
  const answer = await send(sent, upstream, context.attempt);
  const { status, headers } = answer;
  if (status >= 300 && status < 400) throw new GatewayError('upstream_redirect', 'The provider answered with a redirect, which is not followed. Check its base_url.', { upstreamStatus: status });
  const answerParts = { wire, dialect, target, limits: context.config.server.limits };
  if (status >= 400) throw await failure(answer, answerParts);
  const type = String(headers['content-type'] ?? '');
  if (type.startsWith('text/event-stream') || (context.request.stream && !type.startsWith('application/json') && !type.startsWith('text/'))) return await streamSource(answer, answerParts);
  return bodySource(answer, answerParts);
}

/** Adds a signature over the whole request to its headers. */
async function signed(request: Sent, vendor: Dialect, { target, upstream, clock }: AttemptParts): Promise<Sent> {
  const signature = await vendor.sign?.({ url: new URL(upstream.origin + request.path), headers: request.headers, body: request.body, at: new Date(clock()) }, target.provider);
  return { ...request, headers: { ...request.headers, ...signature } };
}

async function send({ path, headers, body }: Sent, { pool, warnBusy }: Upstream, { cancellation, policy }: Attempt): Promise<HttpAnswer> {
  const request: ConnectionRequest = { method: 'POST', path, headers, body, connectMs: policy.timeouts.connect, isTaken: false };
  for (let stale = 0; ; stale++) {
    // a signature may have taken its time
    cancellation.throwIfCancelled();
    const answer = new HttpAnswer();
    // the core cancels each attempt that fails, whoever throws, so this closes the connection of every answer that is not read to its end
    cancellation.onCancel(() => answer.cancel(cancellation.reason));
    pool.dispatch(request, answer);
    if (!request.isTaken) warnBusy();
    try {
      await answer.head;
      return answer;
    } catch (thrown) {
      cancellation.throwIfCancelled();
      // wire: a provider may close an idle connection at the moment when it is used again (RFC 9112 §9.5); several may be stale at once
      if (stale >= 3 || !isStaleConnection(thrown)) throw unreachable(thrown);
    }
  }
}
