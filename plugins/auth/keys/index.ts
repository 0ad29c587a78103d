/**
 * Identifies the caller by the hash of the request's key. It decides at `auth` who the caller is, and at `route` which models the
 * key may use. Keys are written in the YAML, or kept in the database of the log. This process has all keys in memory: no request reads
 * the database. Where callers need no key, every request is let in. This plugin never keeps, prints or forwards a key.
 */
import { bearerOf } from '../../../core/api-key.ts';
import type { ChatRequest } from '../../../core/chat.ts';
import type { Candidate, Normalised, Principal } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { patternOf } from '../../../core/names.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { type Fields, fieldsOf } from '../../../core/wire/fields.ts';
import { keyCommands } from './commands/commands.ts';
import { Holders } from './holders.ts';
import type { Holder } from './holders.ts';
import { addKeyRoutes } from './routes.ts';
import { StoreKeys } from './store-keys.ts';

const name = 'auth/keys';
const nobody: Principal = { key: null, models: null, metadata: {} };
/** How long a change waits until the other workers know it. */
const othersMs = 1000;

export default definePlugin({
  name,
  summary: 'API keys from the YAML and the store, by Authorization: Bearer, x-api-key or api-key; which models each may use',
  commands: keyCommands,
  apply({ hooks, config, keys, routes, log, state, peers, clock, logger }) {
    const { isGuarded } = config.server;
    const holders = new Holders(config.keys);
    hooks.auth.tap(({ headers, createdAt }) => {
      if (holders.size === 0) return isGuarded ? undefined : nobody;
      const key = keyOf(headers);
      const holder = key === null ? undefined : holders.of(key);
      if (holder === undefined) return isGuarded ? undefined : nobody;
      if (holder.disabled || (holder.expiresAt !== null && createdAt >= holder.expiresAt)) throw refusalOf(holder);
      return holder.principal;
    });

    const store = new StoreKeys({ log, keys, state, logger, holders });
    // LATE: no other plugin has recognised the key, and it may be one of the keys that could not be read yet
    hooks.auth.tap({ stage: LATE }, ({ headers }) => {
      if (store.isUnread && keyOf(headers) !== null) throw keysUnread();
      return undefined;
    });
    // LATE: the plugin that keeps the log has opened it by then
    hooks.boot.tapPromise({ stage: LATE }, () => store.open());
    // the log is closed before this plugin, and its keys cannot be read then
    hooks.close.tap(() => store.stopReading());
    peers?.answer('changed', async () => await store.readAgain());
    addKeyRoutes(routes, {
      kept: () => store.kept,
      keys,
      table: () => store.table(),
      clock,
      reader: log.reader,
      isGuarded,
      tellOthers: async () => void (await peers?.ask('changed', null, othersMs)),
    });

    const mayUse = createGlobs();
    hooks.normalise.tap((request, { principal: { models } }) => (models === null ? request : withoutOtherModels(request)));
    hooks.route.tap({ stage: EARLY }, (candidates, context) => {
      const { models } = context.principal;
      if (models === null || mayUse(models, context.request.model)) return candidates;
      return candidates.map((candidate) => (mayUse(models, candidate.model.id) ? candidate : refuse(candidate, context)));
    });
    return () => store.close();
  },
});

/** Fields in which callers name further models to a provider that is a gateway itself, such as OpenRouter or LiteLLM. */
const otherModels: readonly string[] = ['models', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'];
/** Fields of a JSON schema that hold names of the caller's: a property `models` of an answer asks no model (vLLM: `structured_outputs.json`). */
const schemaNames: readonly string[] = ['properties', '$defs', 'definitions'];
/** How deep in a field of the request such a field is looked for. */
const deepest = 4;

/**
 * Whether a field of the request, or a field inside it, names further models. A text inside it names none: `metadata` may
 * have such an entry, and so may the variables of a stored prompt.
 * wire: `providerOptions.gateway.models` (Vercel AI Gateway: Provider options), `orq.fallbacks` (orq.ai: AI Gateway fallbacks)
 */
function namesModels(field: string, value: unknown, depth = deepest): boolean {
  if (otherModels.includes(field) && (depth === deepest || typeof value !== 'string')) return true;
  if (depth === 0) return false;
  // cost: `Object.entries` of a list of ten million numbers would take a gigabyte
  if (Array.isArray(value)) return value.some((item) => namesModels('', item, depth - 1));
  const inside = fieldsOf(value);
  const isOfSchema = schemaNames.includes(field);
  for (const inner in inside) if (namesModels(isOfSchema ? '' : inner, inside[inner], depth - 1)) return true;
  return false;
}

const withOtherModels = (fields: Fields): readonly string[] =>
  Object.entries(fields).flatMap(([field, value]) => (namesModels(field, value) ? [field] : []));

/**
 * safety: a provider that asks other models on a caller's word would get
 * round the list of models of the key, and the prices of this config.
 */
function withoutOtherModels(request: ChatRequest): ChatRequest {
  const { rest, native, adjustments = [] } = request;
  const named = [...new Set([...withOtherModels(rest), ...withOtherModels(native?.fields ?? {})])];
  if (named.length === 0) return request;
  const less = (fields: ChatRequest['rest']): ChatRequest['rest'] =>
    Object.fromEntries(Object.entries(fields).filter(([field]) => !named.includes(field)));
  const own = native && { ...native, fields: less(native.fields), lost: (native.lost ?? []).filter((field) => !named.includes(field)) };
  return {
    ...request,
    rest: less(rest),
    ...(own && { native: own }),
    adjustments: [...adjustments, ...named.map((parameter) => ({ parameter, change: 'dropped' }))],
  };
}

/** Makes the function that says whether one of the globs fits the name of a model. */
function createGlobs(): (globs: readonly string[], model: string) => boolean {
  const patterns = new Map<string, RegExp>();
  const fits = (glob: string, model: string): boolean => {
    const pattern = patterns.get(glob) ?? patternOf(glob);
    patterns.set(glob, pattern);
    return pattern.test(model);
  };
  return (globs, model) => globs.some((glob) => fits(glob, model));
}

/** safety: only a caller who has the key may learn that the key was valid once. */
function refusalOf({ principal, expiresAt, disabled }: Holder): GatewayError {
  const why = disabled ? 'is disabled' : `expired on ${new Date(expiresAt ?? 0).toISOString().replace('.000', '')}`;
  return new GatewayError('invalid_api_key', `The API key of "${principal.key}" ${why}.`, { plugin: name });
}

function keysUnread(): GatewayError {
  const why = 'This key is not in the config, and the keys of the store cannot be read now.';
  return new GatewayError('keys_unavailable', why, { retryAfterMs: 1000, plugin: name });
}

/** The key of the request, from `Authorization: Bearer`, `x-api-key` or `api-key`; null where the request has no key in a valid form. */
function keyOf(headers: Normalised['headers']): string | null {
  // Azure's clients send `api-key`
  const key = bearerOf(headers['authorization']) ?? headers['x-api-key'] ?? headers['api-key'] ?? null;
  return key === '' ? null : key;
}

function refuse(candidate: Candidate, { request }: Normalised): Candidate {
  const why = `This key may not use the model "${request.model.slice(0, 100)}".`;
  const error = new GatewayError('model_not_allowed', why, { param: 'model', plugin: name });
  // safety: this replaces an earlier reason for dropping the candidate, because a caller without access must not learn that reason
  return { ...candidate, dropped: { by: name, reason: 'the key may not use it', error } };
}
