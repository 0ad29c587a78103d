/**
 * Identifies the caller by the hash of the request's key. It decides at `auth` who the caller is, and at `route` which models the
 * key may use. Without `keys` in the YAML every request is let in. This plugin never keeps, prints or forwards a key.
 */
import { hash } from 'node:crypto';
import type { KeyEntry } from '../../../core/api-key.ts';
import type { Candidate, Normalised, Principal } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { patternOf } from '../../../core/names.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';

const name = 'auth/keys';
const nobody: Principal = { key: null, models: null, metadata: {} };

export default definePlugin({
  name,
  summary: 'API keys from the YAML, by Authorization: Bearer, x-api-key or api-key; which models each may use',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, config }) {
    const holders = new Map(config.keys.flatMap(holdersOf));
    const patterns = new Map(config.keys.flatMap(({ models }) => models ?? []).map((glob) => [glob, patternOf(glob)]));
    const mayUse = (globs: readonly string[], model: string): boolean => globs.some((glob) => patterns.get(glob)?.test(model));

    // cost: a hash for each request is a fortieth of the CPU of a plain request (test/bench). Only keys of the config get in, so callers cannot fill it
    const known = new Map<string, Holder>();
    hooks.auth.tap(({ headers, createdAt }) => {
      if (holders.size === 0) return nobody;
      const key = keyOf(headers);
      if (key === null) return undefined;
      // the time of a look-up may tell something about a hash, but a hash tells nothing about the key: no constant time is needed
      const holder = known.get(key) ?? holders.get(hash('sha256', key));
      if (holder === undefined) return undefined;
      known.set(key, holder);
      if (holder.disabled || (holder.expiresAt !== null && createdAt >= holder.expiresAt)) throw refusalOf(holder);
      return holder.principal;
    });

    hooks.route.tap({ stage: EARLY }, (candidates, context) => {
      const { models } = context.principal;
      if (models === null || mayUse(models, context.request.model)) return candidates;
      return candidates.map((candidate) => (mayUse(models, candidate.model.id) ? candidate : refuse(candidate, context)));
    });
  },
});

/** Whom a key stands for, and until when. */
interface Holder {
  readonly principal: Principal;
  readonly expiresAt: number | null;
  readonly disabled: boolean;
}

/** The holder of each key of an entry, by the hash of the key. */
function holdersOf({ name: key, hashes, disabled, models, metadata, logBodies, cache, reasoningFields }: KeyEntry): [string, Holder][] {
  const principal: Principal = { key, models, metadata, logBodies, cache, ...(reasoningFields !== null && { reasoningFields }) };
  return hashes.map(({ hash: digest, expiresAt }) => [digest, { principal, expiresAt, disabled }]);
}

/** safety: only who has the key learns that it was good once. */
function refusalOf({ principal, expiresAt, disabled }: Holder): GatewayError {
  const why = disabled ? 'is disabled' : `expired on ${new Date(expiresAt ?? 0).toISOString().replace('.000', '')}`;
  return new GatewayError('invalid_api_key', `The API key of "${principal.key}" ${why}.`, { plugin: name });
}

/** The key of the request, from `Authorization: Bearer`, `x-api-key` or `api-key`; null where the request has no key in a valid form. */
function keyOf(headers: Normalised['headers']): string | null {
  const bearer = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers['authorization'] ?? '')?.[1];
  // Azure's clients send `api-key`
  return bearer ?? headers['x-api-key'] ?? headers['api-key'] ?? null;
}

function refuse(candidate: Candidate, { request }: Normalised): Candidate {
  const error = new GatewayError('model_not_allowed', `This key may not use the model "${request.model.slice(0, 100)}".`, { param: 'model', plugin: name });
  // safety: this replaces an earlier reason for dropping the candidate, because a caller without access must not learn that reason
  return { ...candidate, dropped: { by: name, reason: 'the key may not use it', error } };
}
