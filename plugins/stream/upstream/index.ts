/**
 * Opens an attempt over HTTP: encodes the request in the provider's dialect, sends it on the provider's pool of connections, and
 * returns the answer as chunks. It acts at `open`, after all other plugins, and at `route` of a dry run. It speaks HTTP/1.1; a
 * connection carries one request at a time and stays open. It follows no redirect and has its own time limit for connecting. It
 * sends a request again only where a connection that was used before is closed before the first byte of the answer.
 */
import { addressOf } from '../../../core/wire/address.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import type { Provider } from '../../../core/config.ts';
import type { Streaming } from '../../../core/pipeline/context.ts';
import { dialectNameOf } from '../../../core/wire/dialect.ts';
import type { Dialect, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { answerSource, faultOfDialect } from './answer.ts';
import { connectionsBy } from './connection.ts';
import { dispatch } from './dispatch.ts';
import type { AttemptParts, Upstream } from './dispatch.ts';
import { wayTo } from '../../../core/wire/egress/way.ts';
import { expressible } from './dry-run.ts';
import { embed } from './embeddings.ts';
import { withCallersNames } from './callers-names.ts';
import { createIdentities } from './identities.ts';
import { publicInternet } from './images/addresses.ts';
import type { Reach } from './images/addresses.ts';
import { Images, noImages } from './images/images.ts';
import * as undici from '../../../core/wire/egress/undici.ts';

const busyWarningMs = 60_000;

/**
 * @param reach the addresses from which images are fetched: tests fetch them from servers of this machine.
 * safety: a config names a plugin by its default export, which fetches them from the public internet only
 */
export const upstreamBy = (reach: Reach): AnyPlugin =>
  definePlugin({
    name: 'stream/upstream',
    summary: 'asks providers over HTTP/1.1, in their dialect, on a pool of connections each',
    checkup: async (parts) => await (await import('./checkup.ts')).checkProviders(parts),
    apply(gateway) {
      const { hooks, dialects, clock, logger, metrics, state } = gateway;
      const upstreams = new Map<string, Upstream>();
      const admit = createIdentities(gateway);
      const images = new Images(reach, state('images', noImages));
      metrics.add(() => images.metrics());
      const upstreamOf = (provider: Provider): Upstream => {
        const open = upstreams.get(provider.id) ?? createUpstream(provider, { baseUrl: baseUrlOf(provider, dialects), logger });
        upstreams.set(provider.id, open);
        return open;
      };
      // cost: only a dry run is encoded here; a real request is encoded when it is sent
      hooks.route.tap({ stage: LATE }, (candidates, context) =>
        context.isDryRun ? expressible(candidates, context, dialects) : candidates,
      );
      hooks.open.tapPromise({ stage: LATE }, async (context) => {
        const { attempt } = context;
        const { provider: entry, mapping, model } = attempt.candidate;
        const dialect = dialects.get(dialectNameOf(attempt.candidate));
        if (dialect === undefined) return undefined;
        const provider = entry.auth === null ? entry : await admit(entry);
        const target: Target = { provider, model, mapping, reasoning: attempt.reasoning, form: context.request.form };
        const by = context.request.ask?.kind === 'embeddings' ? embed : ask;
        const parts = { attempt, dialect, vendor: dialects.get(provider.dialect), target, upstream: upstreamOf(provider), clock, images };
        try {
          return await by(context, parts);
        } catch (thrown) {
          throw faultOfDialect(thrown, dialect);
        }
      });
      hooks.settle.tap((record, context) => {
        images.end(context);
        return record;
      });
      return async () => {
        await Promise.all(Array.from(upstreams.values(), ({ pool }) => pool.destroy()));
      };
    },
  });

export default upstreamBy(publicInternet);

function baseUrlOf(provider: Provider, dialects: ReadonlyMap<string, Dialect>): string {
  const url = addressOf(provider, dialects.get(provider.dialect));
  if (!url) throw new GatewayError('no_provider_available', `The provider "${provider.id}" has no address. Give it a base_url.`);
  return url;
}

function createUpstream(provider: Provider, { baseUrl, logger }: { baseUrl: string; logger: Logger }): Upstream {
  const { id, connections } = provider;
  const { origin, pathname } = new URL(baseUrl);
  let quietUntil = 0;
  const warnBusy = (): void => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + busyWarningMs;
    logger.warn('all connections to a provider are busy and requests wait for one; raise "connections" of its entry', {
      provider: id,
      connections,
    });
  };
  // the core has all time limits except the one for connecting; undici's own limits would end a long reasoning phase after five minutes.
  // with `allowH2`, requests to a provider that does not accept connections would wait one after the other
  const pool = new undici.Pool(origin, {
    connections,
    factory: connectionsBy(wayTo(baseUrl, provider)),
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  });
  return { pool, warnBusy, origin, prefix: pathname.replace(/\/$/, '') };
}

async function ask(context: Streaming, parts: AttemptParts & { readonly images: Images }): Promise<ChunkSource> {
  const { dialect, target, images } = parts;
  const request = Images.areNeeded(context, dialect, target) ? await images.into(context, parts) : context.request;
  const wire = encodeBy(dialect, request, target);
  const answer = await dispatch(wire, parts);
  const answerParts = { wire, dialect, target, limits: context.config.server.limits };
  // wire: capitals mean nothing in a media type (RFC 9110 §8.3.1)
  const type = String(answer.headers['content-type'] ?? '').toLowerCase();
  const isStream =
    type.startsWith('text/event-stream') || (context.request.stream && !type.startsWith('application/json') && !type.startsWith('text/'));
  const source = answerSource(answer, answerParts, isStream);
  return wire.toolNames === undefined ? source : withCallersNames(source, wire.toolNames);
}
