/** One target of Portkey as a deployment of LiteLLM: its vendor, its account and its model. */
import { fieldsOf } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Path } from '../../source.ts';
import type { Draft } from '../draft.ts';
import { variableOf } from '../draft.ts';
import { numberOf, textOf } from '../foreign.ts';
import { providerFor } from '../litellm/deployments.ts';
import type { Deployment } from '../litellm/deployments.ts';
import { Given } from '../litellm/given.ts';
import { vendors } from '../litellm/vendors.ts';
import { snake } from './fields.ts';

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

export interface Target extends Deployment {
  /** Its own name, and those of the targets around it. */
  readonly names: readonly unknown[];
  /** Whether it gets a share of the requests, by the weight in `params`. */
  readonly isShared?: true;
  /** Whether it is asked only when another target does not answer. */
  readonly isStandby?: true;
}

/** Notes why a target is left out, and returns no target. */
export function leave(reason: string, path: Path, draft: Draft): Target[] {
  draft.note(path, `left out: ${reason}`, 'target');
  return [];
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
export function keptKeysIn(value: unknown): string[] {
  const { variable } = namedIn(snake(fieldsOf(value)));
  const inside = (Array.isArray(value) ? value : Object.values(fieldsOf(value))).flatMap(keptKeysIn);
  return variable === null ? inside : [variable, ...inside];
}

/** The target as a deployment; none where its vendor is not known, or has no dialect here. */
export function targetOf(fields: Fields, path: Path, draft: Draft): Target[] {
  const { slug, variable, at, ...named } = namedIn(fields);
  // the name of a virtual key or of an integration often begins with the vendor's
  const vendor = byLength.find((name) => named.vendor === name || named.vendor.startsWith(`${name}-`));
  const prefix = vendor === undefined ? undefined : prefixes[vendor];
  if (vendor === undefined || prefix === undefined) {
    const whose = slug === '' ? 'a target without a provider' : slug;
    return leave(`the vendor of ${whose} is not known. ${otherVendor}`, path, draft);
  }
  if (variable !== null) draft.note([...path, ...at], `its key is in Portkey: set ${variable} to the key of the vendor`, slug);
  const deployment = textOf(fields['deployment_id']) ?? textOf(fields['azure_deployment_id']);
  const model = named.model ?? deployment;
  const params = paramsOf(fields, { key: variable === null ? null : `os.environ/${variable}`, vendor });
  const account = vendors[prefix]?.(new Given(deployment ?? model ?? '*', params, { path, draft }));
  if (account === undefined || typeof account === 'string') return leave(account ?? `there is no dialect for ${vendor}`, path, draft);
  const weight = numberOf(fields['weight']);
  const providerId = providerFor(account, path, draft);
  return [{ names: [], group: model ?? '*', path, params: weight === null ? {} : { weight }, info: {}, account, providerId, prefix }];
}

const otherVendor = 'If it speaks chat completions, write a provider with `dialect: openai-chat` and its `base_url`';

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
