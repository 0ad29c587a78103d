/** `litellm_settings`, `router_settings`, `general_settings` and the other sections: keys, limits, cache, Redis, callbacks, the log. */
import { said } from '../catalogue-facts.ts';
import type { Draft, Place } from '../draft.ts';
import { literal, reference } from '../draft.ts';
import { mostBytes } from '../../../schemas/server.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { countOf, numberOf, textOf, textsOf } from '../foreign.ts';
import { budgetOf } from './budgets.ts';
import { Given, written } from './given.ts';
import { routingSettings } from './routing.ts';
import { sectionsAdvice, settingsAdvice } from './without-counterpart.ts';

type Read = (value: unknown, at: Place & { readonly section: Fields }) => void;

/** Settings whose effect the gateway has in any case, or that are read together with another setting. */
const needless: ReadonlySet<string> = new Set([
  'drop_params',
  'modify_params',
  'set_verbose',
  'json_logs',
  'debug_level',
  'enable_pre_call_checks',
  'budget_duration',
  'enable_azure_ad_token_refresh',
  'store_prompts_in_spend_logs',
  'maximum_spend_logs_retention_period',
  'maximum_spend_logs_retention_interval',
  'set_max_fallbacks',
  'turn_off_message_logging',
  'redis_port',
  'redis_password',
  'redis_db',
]);

/** The sections whose settings are read one by one. */
export const settingsSections: readonly string[] = ['litellm_settings', 'router_settings', 'general_settings'];

export function writeSettings(draft: Draft): void {
  const { value } = draft.source;
  for (const name of settingsSections) {
    const section = fieldsOf(value[name]);
    for (const [setting, given] of Object.entries(section)) {
      if (given === null || needless.has(setting) || (name !== 'general_settings' && routingSettings.includes(setting))) continue;
      const read = Object.hasOwn(readers, setting) ? readers[setting] : undefined;
      if (read !== undefined) read(given, { draft, path: [name, setting], section });
      else if (given !== false) draft.note([name, setting], settingsAdvice[setting] ?? 'has no counterpart');
    }
  }
  for (const [name, section] of Object.entries(value)) {
    if (['model_list', 'credential_list', ...settingsSections].includes(name) || section === null) continue;
    if (name === 'environment_variables') {
      for (const variable of Object.keys(fieldsOf(section))) {
        draft.note([name, variable], 'put it into the environment, or into .env beside the file');
      }
    } else draft.note([name], sectionsAdvice[name] ?? 'has no counterpart');
  }
  if (isCachedInRedis(fieldsOf(value['litellm_settings']))) draft.redis ??= reference('REDIS_URL');
  const stored = fieldsOf(value['general_settings'])['store_prompts_in_spend_logs'] === true;
  draft.plugin('log/journal', {
    store: 'sqlite',
    bodies: stored,
    retention_days: retentionOf(fieldsOf(value['general_settings'])['maximum_spend_logs_retention_period']),
  });
  if (!stored) {
    draft.notes.push({
      line: 0,
      what: 'log/journal',
      todo: 'LiteLLM keeps no prompts and answers in its log, so `bodies` is false here; true shows them on the dashboard',
    });
  }
  draft.plugin('log/otel', { endpoint: '${OTEL_EXPORTER_OTLP_ENDPOINT:-}' });
}

const usualRetention = 31;
/** The longest `retention_days` of log/journal: a hundred years. */
const longestRetention = 36_500;
const daysOf: Readonly<Record<string, number>> = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 31 };

/** Whole days, of LiteLLM's `7d` or `24h`. */
function retentionOf(period: unknown): number {
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w|mo)$/.exec(textOf(period) ?? '') ?? [];
  return count === undefined ? usualRetention : Math.min(longestRetention, Math.max(1, Math.ceil(Number(count) * (daysOf[unit] ?? 1))));
}

const budget: Read = (amount, { draft, path, section }) => {
  // 0 is LiteLLM's default here and sets no limit; the 0 of a key allows nothing
  if (numberOf(amount) === 0) return;
  const found = budgetOf(amount, section['budget_duration']);
  if (typeof found === 'string') draft.note(path, found);
  else if (found !== null) draft.limits.push({ value: { by: 'all', budget: found }, remark: draft.where(path) });
};

/** The limits of each new key become limits of every key. */
const ofKeys: Read = (value, { draft, path }) => {
  const given = fieldsOf(value);
  const { amounts, fault } = keyAmounts(given);
  const left = Object.keys(given).filter((name) => !amountNames.has(name));
  for (const name of left) draft.note([...path, name], 'write it at each key under `keys`');
  if (fault !== null) draft.note(path, fault);
  if (Object.keys(amounts).length > 0) draft.limits.push({ value: { by: 'key', ...amounts }, remark: draft.where(path) });
};

const amountNames = new Set(['max_budget', 'budget_duration', 'rpm_limit', 'tpm_limit', 'max_parallel_requests']);

/** The limits of a key, by LiteLLM's names. `fault`: why its budget has no counterpart. */
export function keyAmounts(given: Fields): { readonly amounts: Fields; readonly fault: string | null } {
  const found = budgetOf(given['max_budget'], given['budget_duration']);
  const fault = typeof found === 'string' ? found : null;
  const amounts = said({
    requests_per_minute: countOf(given['rpm_limit']),
    tokens_per_minute: countOf(given['tpm_limit']),
    concurrent: countOf(given['max_parallel_requests']),
    budget: fault === null ? found : null,
  });
  return { amounts, fault };
}

const masterKey: Read = (value, { draft, path }) => {
  const given = new Given('', { master_key: value }, { path: path.slice(0, 1), draft });
  draft.keys.push({
    value: { name: 'master', key: given.secret('master_key', 'LITELLM_MASTER_KEY') ?? reference('LITELLM_MASTER_KEY') },
    remark: draft.where(path),
  });
  draft.note(
    path,
    'here it is a key of a caller. The dashboard and /api have another one: the first start prints it, or `server.admin_key` sets it',
  );
};

const callbacks: Read = (value, { draft, path }) => {
  for (const name of new Set(textsOf(value))) {
    if (name === 'prometheus') continue;
    if (name === 'otel' || name === 'opentelemetry') {
      draft.note(
        path,
        'log/otel sends traces where OTEL_EXPORTER_OTLP_ENDPOINT points (LiteLLM reads OTEL_ENDPOINT too), over HTTP, port 4318',
        name,
      );
    } else {
      draft.note(
        path,
        'if it takes OTLP over HTTP, log/otel can send it traces: set OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS; if not, write a plugin at `log` (examples/webhook.ts)',
        name,
      );
    }
  }
};

const cached: Read = (value, { draft, section, path }) => {
  if (value !== true) return;
  const params = fieldsOf(section['cache_params']);
  if (params['mode'] === 'default_off') {
    draft.note(path, 'a request asks for the cache by the header x-cache: on', 'cache_params.mode: default_off');
  } else draft.usual['cache'] = true;
  draft.note(path, 'a kept answer is given to the caller who asked for it, and to nobody else (docs/cache.md)');
};

/** The longest `ttl_seconds` of stream/cache: a year. */
const longestKeptSeconds = 31_536_000;

/** Places outside of the process in which LiteLLM keeps exact repeats. */
const otherStores = new Set(['s3', 'gcs', 'disk', 'azure-blob']);

const isCachedInRedis = ({ cache, cache_params: params }: Fields): boolean =>
  cache === true && isFields(params) && (textOf(params['type']) ?? 'redis') === 'redis';

const cacheParams: Read = (value, { draft, path, section }) => {
  const params = fieldsOf(value);
  if (section['cache'] !== true) return;
  const type = textOf(params['type']) ?? 'redis';
  const usual = type === 'local' ? 'default_in_memory_ttl' : type.startsWith('redis') ? 'default_in_redis_ttl' : '';
  const seconds = countOf(params[usual]) ?? countOf(params['ttl']);
  if (seconds !== null) draft.plugin('stream/cache', { ttl_seconds: Math.min(longestKeptSeconds, seconds) });
  if (isCachedInRedis(section)) writeRedis(params, { draft, path });
  else if (type !== 'local') {
    draft.note(
      [...path, 'type'],
      otherStores.has(type) ? 'kept in memory, or in Redis' : 'only exact repeats are answered from the cache, in memory or in Redis',
      type,
    );
  }
  for (const [name, given] of Object.entries(params)) {
    if (readOfCache.has(name) || given === null || given === false) continue;
    draft.note(
      [...path, name],
      name === 'supported_call_types' ? 'chat, messages, responses and embeddings are cached' : 'has no counterpart',
    );
  }
};

const ofRedis = ['url', 'host', 'port', 'password', 'db', 'username'];
const ofOtherRedis = ['redis_startup_nodes', 'sentinel_nodes', 'service_name', 'gcp_service_account'];
const readOfCache: ReadonlySet<string> = new Set([
  'type',
  'mode',
  'ttl',
  'default_in_memory_ttl',
  'default_in_redis_ttl',
  'ssl',
  ...ofRedis,
  ...ofRedis.map((name) => `redis_${name}`),
  ...ofOtherRedis,
]);

/** The cache and the router may name the same Redis, and one of them may leave the address to the environment. The cache is read first. */
function writeRedis(params: Fields, { draft, path }: Place): void {
  const url = redisUrl(params, { draft, path });
  if (draft.redis !== null && url !== null && draft.redis !== url) {
    draft.note(
      path,
      'limits, the cache and all else share one Redis: the address of the cache was imported, and this one was not',
      `the Redis of ${path[0]}`,
    );
  }
  draft.redis ??= url;
}

/** One address in place of host, port and password. Null: none is written. */
function redisUrl(params: Fields, { draft, path }: Place): string | null {
  for (const name of ofOtherRedis) {
    if (params[name] !== undefined) draft.note([...path, name], 'one Redis is asked, at one address: write redis: { url: … }');
  }
  const given = new Given('', params, { path, draft });
  const url = given.secret('redis_url', 'REDIS_URL') ?? given.secret('url', 'REDIS_URL');
  if (url !== null) return url;
  const host = given.text('redis_host', 'host');
  if (host === null) return null;
  const scheme = params['ssl'] === true ? 'rediss' : 'redis';
  const port = given.text('redis_port', 'port') ?? '6379';
  const database = given.text('redis_db', 'db');
  const end = `${host}:${port}${database === null ? '' : `/${database}`}`;
  const password = given.secret('redis_password', 'REDIS_PASSWORD') ?? given.secret('password', 'REDIS_PASSWORD');
  if (password === null || password === 'none') return `${scheme}://${end}`;
  draft.note(
    path,
    'in the address, write each character of the password as %XX that is not a letter, a digit or one of - . _ ~',
    'the password of Redis',
  );
  return `${scheme}://${given.text('username', 'redis_username') ?? ''}:${password}@${end}`;
}

const redisOfRouter: Read = (_, { draft, path, section }) => writeRedis(section, { draft, path: path.slice(0, 1) });

const identity: Read = (value, { draft, path }) =>
  draft.note(path, `tokens of other issuers need a plugin at \`auth\`${typeof value === 'string' ? ', instead of this file' : ''}`);

const readers: Readonly<Record<string, Read>> = {
  disable_spend_logs: (value, { draft, path }) =>
    void (value === true && draft.note(path, 'every request is on record; to keep no record, remove `log/journal` from `plugins`')),
  master_key: masterKey,
  max_budget: budget,
  default_key_generate_params: ofKeys,
  success_callback: callbacks,
  failure_callback: callbacks,
  callbacks,
  service_callback: callbacks,
  service_callbacks: callbacks,
  audit_log_callbacks: callbacks,
  cache: cached,
  cache_responses: cached,
  cache_params: cacheParams,
  redis_host: redisOfRouter,
  redis_url: redisOfRouter,
  global_max_parallel_requests: (value, { draft, path }) => {
    const concurrent = countOf(value);
    if (concurrent !== null) draft.limits.push({ value: { by: 'all', concurrent }, remark: draft.where(path) });
  },
  max_parallel_requests: (value, { draft, path }) => {
    const concurrent = countOf(value);
    if (concurrent !== null) draft.limits.push({ value: { by: 'provider', concurrent }, remark: draft.where(path) });
  },
  max_request_size_mb: (value, { draft }) => {
    const size = numberOf(value);
    if (size !== null && size > 0) draft.server['limits'] = { body: Math.min(mostBytes, Math.round(size * 1024 * 1024)) };
  },
  completion_model: (value, { draft, path }) =>
    draft.note(
      path,
      `a request names its model; for another name that leads to this model, write a policy: routing: { models: { NAME: { candidates: [${literal(String(value))}] } } }`,
    ),
  custom_auth: identity,
  enable_jwt_auth: identity,
  database_url: (value, { draft, path }) =>
    draft.note(
      path,
      `the log has its own database: log/journal with { store: postgres, url: ${typeof value === 'string' && value.startsWith('os.environ/') ? written(value) : '${DATABASE_URL}'} }, not the database of LiteLLM. \`gateway import litellm CONFIG KEYS.json\` imports LiteLLM's keys (docs/coming-from-litellm.md)`,
    ),
  blocked_user_list: (value, { draft, path }) =>
    draft.note(path, `has no counterpart for ${listOf(value).length} users: refuse them in a plugin at \`normalise\``),
};
