/** The entries of `model_list`: which of them the gateway can ask, and at which provider. */
import { said } from '../catalogue-facts.ts';
import type { Draft } from '../draft.ts';
import { variableOf } from '../draft.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Path } from '../../source.ts';
import { bare, fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { countOf, numberOf, textOf } from '../foreign.ts';
import { Given } from './given.ts';
import type { Account } from './vendors.ts';
import { splitName, usualVendors, vendors } from './vendors.ts';

/** One entry that the gateway can ask. */
export interface Deployment {
  readonly group: string;
  readonly path: Path;
  readonly params: Fields;
  readonly info: Fields;
  readonly account: Account;
  readonly providerId: string;
  /** The vendor by LiteLLM's prefix. */
  readonly prefix: string;
}

/** Parameters of a request that LiteLLM sets for its callers. */
const ofRequests = new Set([
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'top_p',
  'top_k',
  'seed',
  'stop',
  'n',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
  'thinking',
  'response_format',
  'user',
  'logit_bias',
  'tools',
  'tool_choice',
  'extra_body',
  'allowed_openai_params',
  'verbosity',
  'service_tier',
  'dimensions',
  'encoding_format',
  'input_type',
]);
/** Parameters that other parts of this import read, or that describe what the gateway does in any case. */
const readElsewhere = [
  'model',
  'custom_llm_provider',
  'rpm',
  'tpm',
  'weight',
  'order',
  'timeout',
  'max_parallel_requests',
  'max_budget',
  'budget_duration',
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
  'drop_params',
  'litellm_credential_name',
  'api_type',
  'stream',
  'merge_reasoning_content_in_choices',
];
/** Kinds of models for which the gateway has no endpoint. */
const otherModes = new Set([
  'image_generation',
  'image_edit',
  'audio_transcription',
  'audio_speech',
  'rerank',
  'moderation',
  'completion',
  'batch',
  'ocr',
  'video_generation',
  'realtime',
  'search',
  'vector_store',
]);

const retriesOfName = 'retries belong to the name that callers ask for: `retry` and `max_attempts` of its policy under routing.models';
const advice: Readonly<Record<string, string>> = bare({
  num_retries: retriesOfName,
  max_retries: retriesOfName,
  stream_timeout: 'plain requests and streams have the same limits: timeout_ms.first_byte and timeout_ms.idle',
  mock_response: 'here a provider with `dialect: mock` answers without a network, by its own script (plugins/stream/mock)',
  tags: 'a policy with `rules` picks candidates by key or metadata (docs/staying-up.md)',
  tag_regex: 'a policy with `rules` picks candidates by key or metadata (docs/staying-up.md)',
  ssl_verify: '`ca` of the provider trusts certificates of your own; nothing turns the check off',
  organization: 'write one provider for each organisation, with headers: { openai-organization: … }',
  extra_headers: '`headers` of the provider take texts only',
});

/** Reads the list. Entries that the gateway cannot ask are noted. @param named names that the routing of the file asks for */
export function readDeployments(draft: Draft, named: readonly string[]): Deployment[] {
  const credentials = new Map(
    listOf(draft.source.value['credential_list'])
      .map(fieldsOf)
      .map((entry) => [entry['credential_name'], fieldsOf(entry['credential_values'])]),
  );
  const all = listOf(draft.source.value['model_list']).map((raw, at): Read => {
    const entry = fieldsOf(raw);
    const own = fieldsOf(entry['litellm_params']);
    const params = { ...credentials.get(own['litellm_credential_name']), ...own };
    return {
      group: textOf(entry['model_name']) ?? textOf(params['model']) ?? '',
      path: ['model_list', at, 'litellm_params'],
      params,
      info: fieldsOf(entry['model_info']),
    };
  });
  const listed = all.flatMap((one) => (one.params['model'] === '*' ? readEvery(one, draft) : readOne(one, draft)));
  const behind = [...new Set(named)].flatMap((name) => behindWildcard(name, all)).flatMap((one) => readOne(one, draft));
  return [...listed, ...behind];
}

function readEvery(one: Read, draft: Draft): Deployment[] {
  draft.note(
    [...one.path, 'model'],
    `in LiteLLM callers could ask every vendor by its prefix; here they can ask ${usualVendors.join(', ')}. For another vendor add a provider and { id: "NAME/*", providers: [{ providerId: NAME }] }`,
  );
  return usualVendors.flatMap((vendor) =>
    readOne({ ...one, group: `${vendor}/*`, params: { ...one.params, model: `${vendor}/*` } }, draft),
  );
}

/**
 * The entries for a name that only a wildcard of the list has. Aliases
 * and fallbacks name models, so such a name becomes a model of its own.
 */
function behindWildcard(name: string, all: readonly Read[]): Read[] {
  if (name.includes('*') || all.some(({ group, info }) => group === name || info['id'] === name)) return [];
  const fitting = all.filter(({ group }) => /^[^*]*\*$/.test(group) && name.startsWith(group.slice(0, -1)));
  const longest = Math.max(...fitting.map(({ group }) => group.length));
  const rest = name.slice(longest - 1);
  return fitting
    .filter(({ group }) => group.length === longest)
    .map((one) => {
      const pattern = String(one.params['model']);
      const model = pattern === '*' ? name : pattern.replace('*', () => rest);
      return { ...one, group: name, params: { ...one.params, model } };
    });
}

type Read = Pick<Deployment, 'group' | 'path' | 'params' | 'info'>;

function readOne(read: Read, draft: Draft): Deployment[] {
  const { group, path, params, info } = read;
  const name = textOf(params['model']) ?? '';
  const leave = (reason: string): Deployment[] => {
    draft.note([...path, 'model'], `left out: ${reason}`, `${group} (${name})`);
    return [];
  };
  const mode = textOf(info['mode']) ?? '';
  if (otherModes.has(mode)) return leave(`the gateway has no endpoint for the mode ${mode}`);
  const split = splitName(name, textOf(params['custom_llm_provider']));
  if (split === null) {
    return leave(
      'the name has no prefix of a known vendor; write one before the name, or a provider with `dialect: openai-chat` and its `base_url`',
    );
  }
  if (split.model === '') return leave('it names no model');
  const vendor = Object.hasOwn(vendors, split.prefix) ? vendors[split.prefix] : undefined;
  if (vendor === undefined) {
    return leave(
      `there is no dialect for ${split.prefix}. If it speaks chat completions, write a provider with \`dialect: openai-chat\` and its \`base_url\``,
    );
  }
  const given = new Given(split.model, params, { path, draft });
  const account = vendor(given);
  if (typeof account === 'string') return leave(account);
  const whole = withHeaders(account, given);
  given.use(...readElsewhere);
  for (const left of given.left()) noteLeft(left, [...path, left], draft);
  return [{ ...read, account: whole, providerId: providerFor(whole, path, draft), prefix: split.prefix }];
}

const sendable = (header: string): string => header.replaceAll(/[^\w!#$%&'*+.^`|~-]+/g, '-');

/** Headers of vendors that are no secrets. */
const plainHeaders = /^(?:anthropic-(?:version|beta)|openai-(?:organization|project|beta)|user-agent|http-referer|x-title)$/i;

function withHeaders(account: Account, given: Given): Account {
  const own = { ...fieldsOf(given.params['headers']), ...fieldsOf(given.params['extra_headers']) };
  const texts = Object.keys(own).filter((name) => textOf(own[name]) !== null);
  given.use('headers', 'extra_headers');
  if (texts.length === 0) return account;
  const headers = new Given('', own, { draft: given.draft, path: [...given.path, 'extra_headers'] });
  // safety: any other header may hold a secret
  const value = (name: string): string =>
    (plainHeaders.test(name) ? headers.text(name) : headers.secret(name, variableOf(`${account.name} ${name}`))) ?? '';
  const named = texts.map((name) => [sendable(name), value(name)]);
  for (const name of texts) {
    if (sendable(name) !== name) {
      given.draft.note([...given.path, 'extra_headers'], `no header can have this name; it is sent as ${sendable(name)}`, name);
    }
  }
  return {
    ...account,
    entry: { ...account.entry, headers: { ...(account.entry['headers'] as object | undefined), ...Object.fromEntries(named) } },
  };
}

function noteLeft(name: string, path: Path, draft: Draft): void {
  const todo =
    advice[name] ??
    (ofRequests.has(name)
      ? 'the gateway sets no parameters for its callers: let them send it, or set it in a plugin at `normalise`'
      : 'has no counterpart');
  draft.note(path, todo);
}

/** The provider with this entry; it is added to the draft if it is not there. */
export function providerFor({ name, entry, hint = null }: Account, path: Path, draft: Draft): string {
  const { dialect, ...fields } = entry;
  const same = [...draft.providers].find(
    ([id, { value }]) =>
      JSON.stringify(value['dialect'] === undefined ? { dialect: id, ...value } : value) === JSON.stringify({ dialect, ...fields }),
  );
  if (same !== undefined) return same[0];
  const wanted = hint === null || !draft.providers.has(name) ? name : `${name}-${hint.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, '-')}`;
  let id = wanted;
  for (let count = 2; draft.providers.has(id); count += 1) id = `${wanted}-${count}`;
  draft.providers.set(id, { value: { ...(id === dialect ? {} : { dialect }), ...fields }, remark: draft.where(path) });
  return id;
}

/** The parameters that may give the share of a deployment. In each group, the first one that a member has counts. */
export const shareMetrics: readonly string[] = ['weight', 'rpm', 'tpm'];

/**
 * The share of each deployment in the requests of its group, by the first of `weight`,
 * `rpm` and `tpm` that a member of the group has. Null: all shares are equal.
 */
export function weightsOf(deployments: readonly Deployment[]): readonly number[] | null {
  for (const metric of shareMetrics) {
    const shares = deployments.map(({ params }) => numberOf(params[metric]) ?? 0);
    const largest = Math.max(...shares);
    if (largest <= 0) continue;
    if (shares.every((share) => share === largest)) return null;
    return sharesOf(shares);
  }
  return null;
}

/** Shares as the schema takes them: more than 0 and at most 1000. */
export function sharesOf(numbers: readonly number[]): number[] {
  const largest = Math.max(...numbers);
  return numbers.map((number) => Math.max(0.001, largest > 1000 ? Number(((number / largest) * 1000).toPrecision(3)) : number));
}

/** The amounts that a deployment may take in a minute, and at one time. */
export function amountsOf({ params }: Deployment, isEnforced: boolean): Fields {
  return said({
    requests_per_minute: isEnforced && countOf(params['rpm']),
    tokens_per_minute: isEnforced && countOf(params['tpm']),
    concurrent: countOf(params['max_parallel_requests']),
  });
}
