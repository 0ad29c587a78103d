/**
 * One call of a provider: the request with its address, its credentials
 * and its signature goes out, and an answer with a good status comes back.
 */
import type { Pool } from 'undici';
import type { Attempt } from '../../../core/pipeline/context.ts';
import type { Dialect, SignedRequest, Target, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { sanitise } from '../../../core/wire/upstream-error.ts';
import { failure } from './answer.ts';
import type { ConnectionRequest } from './connection.ts';
import { isStaleConnection, unreachable } from './connection.ts';
import { headersOf, SentToProvider } from './headers.ts';
import { HttpAnswer } from './http-answer.ts';

/** The connections to one provider, and its address. */
export interface Upstream {
  readonly pool: Pool;
  /** Warns in the process log that requests wait for a connection, at most once a minute. */
  readonly warnBusy: () => void;
  readonly origin: string;
  /** The path of the base URL, without a slash at the end. */
  readonly prefix: string;
}

/** What one attempt needs. */
export interface AttemptParts {
  /** The attempt itself: after a wait, `attempt` of the context may be the next attempt of the request. */
  readonly attempt: Attempt;
  readonly dialect: Dialect;
  /** The dialect of the provider (a mapping may have another one). It adds the provider's credentials. */
  readonly vendor: Dialect | undefined;
  readonly target: Target;
  readonly upstream: Upstream;
  readonly clock: () => number;
}

/** A request with its whole path and all its headers. */
type Sent = Pick<SignedRequest, 'headers' | 'body'> & { readonly path: string };

/** Throws where the provider cannot be reached, or answers with a redirect or an error. */
export async function dispatch(wire: WireRequest, parts: AttemptParts): Promise<HttpAnswer> {
  const { attempt, dialect, vendor, target, upstream } = parts;
  // safety: a dialect may be JavaScript. A promise, for instance, would be sent to the provider as an empty request
  if (typeof wire?.path !== 'string' || typeof wire.body !== 'string' || !Array.isArray(wire.adjustments)) {
    throw new TypeError('encode() must give { path, headers, body, adjustments }, with texts and a list of adjustments');
  }
  const request: Sent = { path: upstream.prefix + wire.path, headers: headersOf(wire, vendor, target.provider), body: wire.body };
  attempt.sends(new SentToProvider(wire, { url: upstream.origin + request.path, provider: target.provider }));
  const sent = vendor?.sign === undefined ? request : await signed(request, vendor, parts);
  const answer = await send(sent, upstream, attempt);
  const { status, requestId } = answer;
  if (requestId !== null) attempt.learnsId(sanitise(requestId, target.provider));
  if (status >= 300 && status < 400) {
    throw new GatewayError('upstream_redirect', 'The provider answered with a redirect, which is not followed. Check its base_url.', {
      upstreamStatus: status,
    });
  }
  if (status >= 400) throw await failure(answer, { wire, dialect, target });
  return answer;
}

/** Adds a signature over the whole request to its headers. */
async function signed(request: Sent, vendor: Dialect, { target, upstream, clock }: AttemptParts): Promise<Sent> {
  const signature = await vendor.sign?.(
    { url: new URL(upstream.origin + request.path), headers: request.headers, body: request.body, at: new Date(clock()) },
    target.provider,
  );
  return { ...request, headers: { ...request.headers, ...signature } };
}

async function send({ path, headers, body }: Sent, { pool, warnBusy }: Upstream, { cancellation, policy }: Attempt): Promise<HttpAnswer> {
  const request: ConnectionRequest = { method: 'POST', path, headers, body, connectMs: policy.timeouts.connect, isTaken: false };
  for (let stale = 0; ; stale++) {
    // the signature may have taken a long time
    cancellation.throwIfCancelled();
    const answer = new HttpAnswer();
    // the core cancels each attempt that fails, whichever part throws, so
    // this closes the connection of every answer that is not read to its end
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
