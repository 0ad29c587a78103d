/**
 * A config object of Portkey as a draft: its targets are models and a policy over them, named like the file. Targets without
 * a model of their own pass the caller's model on: they are one wildcard. Vendors are read by LiteLLM's names for them.
 */
import { basename, extname } from 'node:path';
import type { Model } from '../../core/config.ts';
import { CatalogueFacts } from './catalogue-facts.ts';
import type { Place } from './draft.ts';
import { Draft, variableOf } from './draft.ts';
import { fieldsOf, listOf } from '../../core/wire/fields.ts';
import { numberOf, textOf } from './foreign.ts';
import type { Fields } from '../../core/wire/fields.ts';
import type { Path } from '../source.ts';
import type { Foreign } from './foreign.ts';
import { providerFor, sharesOf } from './litellm/deployments.ts';
import type { Deployment } from './litellm/deployments.ts';
import { Given } from './litellm/given.ts';
import { writeModels } from './litellm/models.ts';
import { vendors } from './litellm/vendors.ts';
import { guard } from './litellm/without-counterpart.ts';

interface FromPortkey {
  readonly source: Foreign;
  /** The shipped catalogue. */
  readonly catalogue: readonly Model[];
}

/** Portkey's names of vendors, and LiteLLM's. */
const prefixes: Readonly<Record<string, string>> = {
  openai: 'openai',
  'azure-openai': 'azure',
  anthropic: 'anthropic',
  google: 'gemini',
  'vertex-ai': 'vertex_ai',
  bedrock: 'bedrock',
  groq: 'groq',
  'mistral-ai': 'mistral',
  cohere: 'cohere',
  'together-ai': 'together_ai',
  'fireworks-ai': 'fireworks_ai',
  'perplexity-ai': 'perplexity',
  deepseek: 'deepseek',
  'x-ai': 'xai',
  openrouter: 'openrouter',
  ollama: 'ollama',
  deepinfra: 'deepinfra',
  'novita-ai': 'novita',
  huggingface: 'huggingface',
  cerebras: 'cerebras',
  sambanova: 'sambanova',
  'workers-ai': 'cloudflare',
  nebius: 'nebius',
  hyperbolic: 'hyperbolic',
  dashscope: 'dashscope',
  moonshot: 'moonshot',
  'z-ai': 'zai',
  github: 'github',
};
/** Vendors whose address has no version at Portkey, because Portkey adds the version with the endpoint; its gateway 1.15. */
const addsVersion = new Set(['together-ai', 'moonshot', 'openrouter', 'novita-ai', 'deepseek', 'sambanova', 'hyperbolic']);
const byLength = Object.keys(prefixes).toSorted((a, b) => b.length - a.length);

/** Portkey takes `override_params` and `overrideParams`. */
const snake = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

const ofTargets = new Set([
  'name',
  'weight',
  'provider',
  'virtual_key',
  'api_key',
  'override_params',
  'custom_host',
  'resource_name',
  'azure_resource_name',
  'deployment_id',
  'azure_deployment_id',
  'api_version',
  'azure_api_version',
  'openai_organization',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_region',
  'vertex_project_id',
  'vertex_region',
  'workers_ai_account_id',
  'strategy',
  'targets',
]);
const ofConfigs = new Set([...ofTargets, 'retry', 'cache', 'request_timeout']);

const advice: Readonly<Record<string, string>> = {
  input_guardrails: guard,
  output_guardrails: guard,
  before_request_hooks: guard,
  after_request_hooks: guard,
  default_input_guardrails: guard,
  default_output_guardrails: guard,
  forward_headers: 'headers of callers do not go to providers; `headers` of a provider are fixed',
  retry: 'write it at the policy: its retries count for all its targets',
  cache: 'write it at the policy: `cache: true`',
  request_timeout: 'write it at the policy: timeout_ms.first_byte',
  metadata: 'send it as headers that begin with X-Gateway-, or give it to the key',
  strict_open_ai_compliance: 'nothing to do: answers have one shape',
};

export function translatePortkey({ source, catalogue }: FromPortkey): Draft {
  const draft = new Draft(source, keptKeysIn(source.value));
  const root = snake(source.value);
  noteOthers(root, { path: [], known: ofConfigs, draft });
  const targets = targetsOf(root, [], draft);
  const own = targets.filter(({ group }) => group !== '*');
  // a policy chooses among models: if some targets name a model, those without one cannot be candidates beside them
  const kept = own.length > 0 ? own : targets;
  for (const { path } of targets.filter((target) => !kept.includes(target))) {
    draft.note(path, 'left out: the other targets have a model of their own, and this one has none. Give it override_params.model');
  }
  writeModels(kept, new CatalogueFacts(catalogue), draft);
  const policy = own.length > 0 ? draft.policy(policyName(draft)) : draft.usual;
  writeStrategy(policy, root, { targets: kept, draft, isPolicy: own.length > 0 });
  writeSettings(policy, root, draft);
  return draft;
}

/** The policy's name: that of the file, unless a model has that name. */
function policyName({ source, models, notes }: Draft): string {
  const name = basename(source.name, extname(source.name));
  if (!models.has(name)) return name;
  let free = `${name}-policy`;
  while (models.has(free)) free += '-policy';
  notes.push({ line: 0, what: name, todo: `is the name of a model too: callers ask for the policy by ${free}` });
  return free;
}

interface Target extends Deployment {
  /** Its own name, and those of the targets around it. */
  readonly names: readonly unknown[];
  /** Whether it gets a share of the requests, by the weight in `params`. */
  readonly isShared?: true;
  /** Whether it is asked only when another target does not answer. */
  readonly isStandby?: true;
}

/** All targets, including nested ones. */
function targetsOf(fields: Fields, path: Path, draft: Draft): Target[] {
  const { targets } = fields;
  if (!Array.isArray(targets)) return targetOf(fields, path, draft);
  const { mode } = fieldsOf(fields['strategy']);
  const groups = targets.map((raw, at): Target[] => {
    const inner = withModelOf(fields, snake(fieldsOf(raw)));
    const place = [...path, 'targets', at];
    const weight = numberOf(inner['weight']) ?? 1;
    if (mode === 'loadbalance' && weight <= 0) return leave('its weight is 0, so it gets no requests', place, draft);
    if (Array.isArray(inner['targets'])) {
      draft.note(
        [...place, 'targets'],
        'policies do not stand in policies: its targets stand beside the others, as candidates or as fallbacks',
      );
    } else noteOthers(inner, { path: place, known: ofTargets, draft });
    const group = targetsOf(inner, place, draft).map((target) => ({ ...target, names: [inner['name'], ...target.names] }));
    return mode === 'loadbalance' ? shared(group, weight) : group;
  });
  const first = groups.findIndex(({ length }) => length > 0);
  return mode === 'fallback'
    ? groups.flatMap((group, at) => (at === first ? group : group.map((target) => ({ ...target, isStandby: true as const }))))
    : groups.flat();
}

/** A group of targets that gets this share of the requests. */
function shared(group: readonly Target[], share: number): Target[] {
  const weightOf = ({ isStandby, isShared, params }: Target): number => (isStandby ? 0 : isShared ? (numberOf(params['weight']) ?? 1) : 1);
  const sum = group.reduce((all, target) => all + weightOf(target), 0);
  return group.map((target) =>
    target.isStandby
      ? target
      : { ...target, isShared: true, params: { weight: Number(((share * weightOf(target)) / sum).toPrecision(6)) } },
  );
}

/** A target without a model takes that of the target around it. */
function withModelOf(outer: Fields, inner: Fields): Fields {
  const { model } = fieldsOf(outer['override_params']);
  return model === undefined ? inner : { ...inner, override_params: { model, ...fieldsOf(inner['override_params']) } };
}

function leave(reason: string, path: Path, draft: Draft): Target[] {
  draft.note(path, `left out: ${reason}`, 'target');
  return [];
}

interface Others extends Place {
  readonly known: ReadonlySet<string>;
}

function noteOthers(fields: Fields, { path, known, draft }: Others): void {
  for (const name of Object.keys(fields)) if (!known.has(name)) draft.note([...path, name], advice[name] ?? 'has no counterpart');
  for (const name of Object.keys(fieldsOf(fields['override_params']))) {
    if (name !== 'model') {
      draft.note(
        [...path, 'override_params', name],
        'the gateway sets no parameters for its callers: let them send it, or set it in a plugin at `normalise`',
      );
    }
  }
}

interface Named {
  readonly slug: string;
  /** The text that tells the vendor. */
  readonly vendor: string;
  readonly model: string | null;
  /** The variable with the key, where Portkey keeps it. */
  readonly variable: string | null;
  readonly at: Path;
}

/** `@slug/model`. The names of Cloudflare's models begin with @cf/ and @hf/. */
const ofAccount = /^@(?!(?:cf|hf)\/)([^/]+)\/(.+)$/;

/** What a target says about its account and its model. `@slug/model` in place of the model names both. */
function namedIn(fields: Fields): Named {
  const model = textOf(fieldsOf(fields['override_params'])['model']);
  const [, own, rest = null] = ofAccount.exec(model ?? '') ?? [];
  if (own !== undefined) return { slug: `@${own}`, vendor: own, model: rest, variable: keyOf(own), at: ['override_params', 'model'] };
  const [kept, provider] = [textOf(fields['virtual_key']), textOf(fields['provider'])];
  const slug = kept ?? provider ?? '';
  const bare = slug.replace(/^@/, '');
  const isKept = slug.startsWith('@') || fields['virtual_key'] !== undefined;
  return {
    slug,
    vendor: provider?.replace(/^@/, '') ?? bare,
    model,
    variable: isKept ? keyOf(bare) : null,
    at: [kept === null ? 'provider' : 'virtual_key'],
  };
}

const keyOf = (slug: string): string => `${variableOf(slug)}_API_KEY`;

/** The variables of all keys that Portkey keeps. A key that stands in the file must not get one of these names. */
function keptKeysIn(value: unknown): string[] {
  const { variable } = namedIn(snake(fieldsOf(value)));
  const inside = (Array.isArray(value) ? value : Object.values(fieldsOf(value))).flatMap(keptKeysIn);
  return variable === null ? inside : [variable, ...inside];
}

function targetOf(fields: Fields, path: Path, draft: Draft): Target[] {
  const { slug, variable, at, ...named } = namedIn(fields);
  // the name of a virtual key or of an integration often begins with the vendor's
  const vendor = byLength.find((name) => named.vendor === name || named.vendor.startsWith(`${name}-`));
  const prefix = vendor === undefined ? undefined : prefixes[vendor];
  if (vendor === undefined || prefix === undefined) {
    return leave(
      `the vendor of ${slug === '' ? 'a target without a provider' : slug} is not known. If it speaks chat completions: a provider with \`dialect: openai-chat\` and its \`base_url\``,
      path,
      draft,
    );
  }
  if (variable !== null) draft.note([...path, ...at], `its key is in Portkey: set ${variable} to the key of the vendor`, slug);
  const deployment = textOf(fields['deployment_id']) ?? textOf(fields['azure_deployment_id']);
  const model = named.model ?? deployment;
  const params = paramsOf(fields, { key: variable === null ? null : `os.environ/${variable}`, vendor });
  const account = vendors[prefix]?.(new Given(deployment ?? model ?? '*', params, { path, draft }));
  if (account === undefined || typeof account === 'string') return leave(account ?? `there is no dialect for ${vendor}`, path, draft);
  const weight = numberOf(fields['weight']);
  return [
    {
      names: [],
      group: model ?? '*',
      path,
      params: weight === null ? {} : { weight },
      info: {},
      account,
      providerId: providerFor(account, path, draft),
      prefix,
    },
  ];
}

/** The target's settings under LiteLLM's names. */
function paramsOf(fields: Fields, { key, vendor }: { readonly key: string | null; readonly vendor: string }): Fields {
  const resource = textOf(fields['resource_name']) ?? textOf(fields['azure_resource_name']);
  const account = textOf(fields['workers_ai_account_id']);
  const base =
    hostOf(fields, vendor) ??
    (resource === null ? null : `https://${resource}.openai.azure.com`) ??
    (account === null ? null : `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1`);
  return {
    api_key: key ?? fields['api_key'],
    api_base: base,
    api_version: fields['api_version'] ?? fields['azure_api_version'],
    organization: fields['openai_organization'],
    aws_access_key_id: fields['aws_access_key_id'],
    aws_secret_access_key: fields['aws_secret_access_key'],
    aws_session_token: fields['aws_session_token'],
    aws_region_name: fields['aws_region'],
    vertex_project: fields['vertex_project_id'],
    vertex_location: fields['vertex_region'],
  };
}

/** The address that the target names instead of the vendor's, in the form that LiteLLM has. */
function hostOf(fields: Fields, vendor: string): string | null {
  const host = textOf(fields['custom_host'])?.replace(/\/+$/, '') ?? null;
  if (host === null) return null;
  return vendor === 'azure-openai' ? host.replace(/\/openai$/, '') : addsVersion.has(vendor) ? `${host}/v1` : host;
}

interface Strategy {
  readonly targets: readonly Target[];
  readonly draft: Draft;
  /** Whether the policy has candidates and so a name of its own. */
  readonly isPolicy: boolean;
}

function writeStrategy(policy: Record<string, unknown>, root: Fields, { targets, draft, isPolicy }: Strategy): void {
  const strategy = snake(fieldsOf(root['strategy']));
  const mode = textOf(strategy['mode']) ?? 'single';
  const isShared = targets.some((target) => target.isShared && !target.isStandby);
  policy['strategy'] = isShared ? 'weighted' : 'ordered';
  if (strategy['on_status_codes'] !== undefined) {
    draft.note(
      ['strategy', 'on_status_codes'],
      'the next target is asked after 429, 5xx, a time-out, a broken connection, a refused key or an empty account',
    );
  }
  if (!isPolicy) {
    if (mode === 'conditional') {
      draft.note(['strategy', 'conditions'], '`rules` of a policy choose among models: give the targets override_params.model');
    }
    return;
  }
  const [standby, front] =
    isShared && mode !== 'conditional'
      ? [targets.filter((target) => target.isStandby), targets.filter((target) => !target.isStandby)]
      : [[], targets];
  policy['candidates'] = mode === 'conditional' ? defaultOf(strategy, targets) : candidatesOf(front, isShared);
  const fallbacks = new Set(standby.map(({ group }) => group).filter((model) => front.every(({ group }) => group !== model)));
  if (fallbacks.size > 0) policy['fallbacks'] = [...fallbacks];
  if (mode === 'conditional') policy['rules'] = rulesOf(strategy, targets, draft);
}

/** Each model once, with the shares of all its targets. */
function candidatesOf(targets: readonly Target[], isShared: boolean): unknown[] {
  const weights = new Map<string, number>();
  for (const { group, params } of targets) weights.set(group, (weights.get(group) ?? 0) + (numberOf(params['weight']) ?? 1));
  const shares = sharesOf([...weights.values()]).map((share) => Number(share.toFixed(3)));
  return [...weights.keys()].map((model, at) => (isShared && shares[at] !== 1 ? { model, weight: shares[at] } : model));
}

function defaultOf(strategy: Fields, targets: readonly Target[]): unknown[] {
  const named = targets.filter(({ names }) => names.includes(strategy['default'] ?? ''));
  return candidatesOf(named.length > 0 ? named : targets, false);
}

function rulesOf(strategy: Fields, targets: readonly Target[], draft: Draft): object[] {
  return listOf(strategy['conditions'])
    .map(fieldsOf)
    .flatMap(({ query, then }, at) => {
      const path = ['strategy', 'conditions', at];
      const when = Object.entries(fieldsOf(query)).map(
        ([field, test]) => [metadataName(field), textOf(test) ?? textOf(fieldsOf(test)['$eq'])] as const,
      );
      const named = targets.filter(({ names }) => names.includes(then ?? ''));
      if (when.length === 0 || named.length === 0 || when.some(([field, value]) => field === null || value === null)) {
        draft.note(
          path,
          'left out: a rule compares metadata with a value ($eq) and names a target of this file; key, tokens, tools, images and reasoning too (docs/staying-up.md)',
        );
        return [];
      }
      for (const [field] of when) draft.note(path, `send it as the header X-Gateway-${field?.slice('meta.'.length)}`, field ?? '');
      return [{ when: Object.fromEntries(when), candidates: candidatesOf(named, false) }];
    });
}

const metadataName = (field: string): string | null =>
  field.startsWith('metadata.')
    ? `meta.${field
        .slice('metadata.'.length)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')}`
    : null;

/** Portkey retries five times at most. */
function writeSettings(policy: Record<string, unknown>, root: Fields, draft: Draft): void {
  const retry = snake(fieldsOf(root['retry']));
  const attempts = numberOf(retry['attempts']);
  if (attempts !== null && attempts >= 0) {
    policy['retry'] = { same_target: Math.min(10, Math.round(attempts)) };
    policy['max_attempts'] = Math.min(10, (1 + Math.round(attempts)) * Math.max(1, listOf(root['targets']).length));
  }
  if (retry['on_status_codes'] !== undefined) {
    draft.note(
      ['retry', 'on_status_codes'],
      'failures that may pass are retried: 429, 5xx, a broken connection or answer; the delay that a provider asks for counts',
    );
  }
  const timeout = numberOf(root['request_timeout']);
  if (timeout !== null && timeout > 0) policy['timeout_ms'] = { first_byte: Math.round(timeout) };
  const cache = typeof root['cache'] === 'string' ? { mode: root['cache'] } : snake(fieldsOf(root['cache']));
  if (cache['mode'] !== undefined) policy['cache'] = true;
  if (cache['mode'] === 'semantic') draft.note(['cache'], 'only exact repeats are answered from the cache');
  if (cache['max_age'] !== undefined) {
    draft.note(['cache', 'max_age'], 'answers are kept as long as ttl_seconds of stream/cache says, for all policies');
  }
}
