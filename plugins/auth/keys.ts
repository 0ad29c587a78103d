/**
 * Who asks: the key of the request, looked up by its hash. Decides at `auth` who is recognised and at `route` which models
 * that key may use. Without `keys` in the YAML the gateway is open. It never keeps, prints or forwards a key.
 */
import { hash } from 'node:crypto';
import type { Candidate, Normalised, Principal } from '../../core/pipeline/context.ts';
import { GatewayError } from '../../core/errors.ts';
import { patternOf } from '../../core/glob.ts';
import { EARLY } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';

const name = 'auth/keys';
const nobody: Principal = { key: null, models: null, metadata: {} };

export default definePlugin({
  name,
  summary: 'API keys from the YAML, by Authorization: Bearer or x-api-key; which models each may use',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, config }) {
    const principals = new Map<string, Principal>(config.keys.map((key) => [key.hash, { key: key.name, models: key.models, metadata: key.metadata, logBodies: key.logBodies }]));
    const patterns = new Map(config.keys.flatMap(({ models }) => models ?? []).map((glob) => [glob, patternOf(glob)]));
    const mayUse = (globs: readonly string[], model: string): boolean => globs.some((glob) => patterns.get(glob)?.test(model));

    // a hash says nothing about the key, so its comparison needs no constant time
    hooks.auth.tap(name, ({ headers }) => {
      if (principals.size === 0) return nobody;
      const key = keyOf(headers);
      return key === null ? undefined : principals.get(hash('sha256', key));
    });

    hooks.route.tap({ name, stage: EARLY }, (candidates, context) => {
      const { models } = context.principal;
      if (models === null || mayUse(models, context.request.model)) return candidates;
      return candidates.map((candidate) => (mayUse(models, candidate.model.id) ? candidate : refuse(candidate, context)));
    });
  },
});

/** The key as sent; null where none, or none of the right form. */
function keyOf(headers: Normalised['headers']): string | null {
  const bearer = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers['authorization'] ?? '')?.[1];
  return bearer ?? headers['x-api-key'] ?? null;
}

function refuse(candidate: Candidate, { request }: Normalised): Candidate {
  const error = new GatewayError('model_not_allowed', `This key may not use the model "${request.model.slice(0, 100)}".`, { param: 'model', plugin: name });
  // safety: over whatever ruled it out before, which is not for this caller to know
  return { ...candidate, dropped: { by: name, reason: 'the key may not use it', error } };
}
