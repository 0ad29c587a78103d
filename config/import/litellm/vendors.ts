/**
 * What the prefixes of LiteLLM's model names mean here: `groq/llama` is the
 * dialect groq. Names and variables are those that LiteLLM 1.106 knows.
 */
import { fieldsOf } from '../../../core/wire/fields.ts';
import { textOf } from '../foreign.ts';
import type { Given } from './given.ts';

/** An account at a vendor, or a server. */
export interface Account {
  /** The id of the provider, unless it is taken. */
  readonly name: string;
  /** The fields of its entry, `dialect` included. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly externalId: string;
  /** The dialect of the mapping where it is not the provider's. */
  readonly dialect?: string;
  /** Where there are several accounts at the vendor: what tells this one from the others. */
  readonly hint?: string | null;
}

/** A reason why there is no counterpart. */
type Refusal = string;

type Vendor = (given: Given) => Account | Refusal;

/** The base address without a slash at its end, followed by the suffix. */
function addressed(given: Given, base: string, suffix: string): string {
  if (base.endsWith('}') && suffix !== '') {
    given.draft.note(
      [...given.path, 'api_base'],
      `the address goes on behind the variable (${suffix}), so its value must not end in a slash`,
      base,
    );
  }
  const bare = base.replace(/\/+$/, '');
  return suffix !== '' && bare.endsWith(suffix) ? bare : bare + suffix;
}

/** A vendor with an address and a key of its own, which speaks chat completions. */
const compatible =
  (dialect: string, key: string, { base = null }: { base?: string | null } = {}): Vendor =>
  (given) => {
    const address = given.text('api_base', 'base_url') ?? base;
    return {
      name: dialect,
      entry: {
        dialect,
        api_key: given.secret('api_key', key) ?? `\${${key}}`,
        ...(address !== null && { base_url: addressed(given, address, '') }),
      },
      externalId: given.model,
    };
  };

/** A server of one's own, which may need no key. */
const server =
  (dialect: string, { base = null, suffix = '', key }: { base?: string | null; suffix?: string; key: string }): Vendor =>
  (given) => {
    const address = given.text('api_base', 'base_url') ?? base;
    const needs = address === null ? {} : { base_url: addressed(given, address, suffix) };
    return {
      name: dialect,
      entry: { dialect, ...needs, api_key: given.secret('api_key', key) ?? `\${${key}:-none}` },
      externalId: given.model,
    };
  };

const openaiOwn = /^(?:https:\/\/api\.openai\.com\/v1)?\/?$/;
/** Models that OpenAI made, by their names. */
const openaiModels = /^(?:gpt-|chatgpt-|o\d|text-embedding-|ft:)/;

const openai: Vendor = (given) => {
  const [dialect, model] = given.model.startsWith('responses/')
    ? ['openai-responses', given.model.slice('responses/'.length)]
    : [null, given.model];
  const organization = given.text('organization');
  const headers = organization === null ? {} : { headers: { 'openai-organization': organization } };
  const common = { externalId: model, ...(dialect !== null && { dialect }) };
  const base = given.text('api_base', 'base_url') ?? '';
  if (openaiOwn.test(base)) {
    return {
      ...common,
      name: 'openai',
      entry: { dialect: 'openai', api_key: given.secret('api_key', 'OPENAI_API_KEY') ?? '${OPENAI_API_KEY}', ...headers },
    };
  }
  const key = given.secret('api_key', 'OPENAI_COMPATIBLE_API_KEY');
  if (key === null) {
    given.draft.note(
      [...given.path, 'api_base'],
      'the file has no key for this server, so it gets none here, not OPENAI_API_KEY either. If it needs one: api_key of its provider',
      base,
    );
  }
  const own = openaiModels.test(model) ? 'openai' : 'openai-chat';
  return {
    ...common,
    name: 'openai-compatible',
    entry: { dialect: own, base_url: addressed(given, base, ''), api_key: key ?? 'none', ...headers },
  };
};

const anthropic: Vendor = (given) => {
  const base = given.text('api_base', 'base_url');
  const address = base === null ? {} : { base_url: addressed(given, base.replace(/\/v1\/messages\/?$/, ''), '/v1') };
  return {
    name: 'anthropic',
    entry: { dialect: 'anthropic', api_key: given.secret('api_key', 'ANTHROPIC_API_KEY') ?? '${ANTHROPIC_API_KEY}', ...address },
    externalId: given.model,
  };
};

const gemini: Vendor = (given) => {
  if (given.has('api_base')) {
    given.note('api_base', "the shape of this address is LiteLLM's own: set base_url of the provider, with the version path");
  }
  return {
    name: 'google',
    entry: { dialect: 'google', api_key: given.secret('api_key', 'GEMINI_API_KEY') ?? '${GEMINI_API_KEY}' },
    externalId: given.model,
  };
};

const azure: Vendor = (given) => {
  const [dialect, deployment] = given.model.startsWith('responses/')
    ? ['openai-responses', given.model.slice('responses/'.length)]
    : [null, given.model.replace(/^(?:o_series|gpt5_series)\//, '')];
  const version = given.text('api_version') ?? '${AZURE_API_VERSION:-2025-02-01-preview}';
  const base = (given.text('api_base', 'base_url') ?? '${AZURE_API_BASE}').replace(/(\/openai\/deployments\/[^/]+)\/.*$/, '$1');
  const isNew = dialect !== null || deployment === '*' || /^(?:v1|latest|preview)$/.test(version) || base.includes('/openai/v1');
  const suffix = base.includes('/openai/deployments/') ? '' : isNew ? '/openai/v1' : `/openai/deployments/${deployment}`;
  const address = { base_url: addressed(given, base, suffix), ...(!isNew && { api_version: version }) };
  return {
    name: 'azure',
    entry: { dialect: 'azure', ...address, ...azureAccess(given) },
    externalId: deployment,
    hint: isNew ? null : deployment,
    ...(dialect !== null && { dialect }),
  };
};

function azureAccess(given: Given): { api_key: string } | { auth: string } {
  const keyOf = (): string => given.secret('api_key', 'AZURE_API_KEY') ?? '${AZURE_API_KEY}';
  if (textOf(given.params['api_key']) !== null) return { api_key: keyOf() };
  const named = ['azure_ad_token', 'tenant_id', 'client_id', 'client_secret', 'azure_username', 'azure_password'].filter((name) =>
    given.has(name),
  );
  for (const name of named) {
    given.note(
      name,
      'the identity comes from the environment (AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET) and renews itself; npm install @azure/identity',
    );
  }
  const isRenewed = fieldsOf(given.draft.source.value['litellm_settings'])['enable_azure_ad_token_refresh'] === true;
  return named.length > 0 || isRenewed ? { auth: 'entra' } : { api_key: keyOf() };
}

const bedrock: Vendor = (given) => {
  const [, region = null, model = ''] = /^(?:(?:converse|invoke)\/)?(?:([a-z]{2}(?:-[a-z]+)+-\d)\/)?(.*)$/.exec(given.model) ?? [];
  if (/^(?:agent|agentcore|converse_like|llama|deepseek_r1|nova|openai|mantle|async_invoke)\//.test(model)) {
    return 'this API of Bedrock is not the Converse API';
  }
  const access = bedrockAccess(given);
  const endpoint = given.text('aws_bedrock_runtime_endpoint', 'api_base');
  const entry = {
    dialect: 'bedrock',
    ...access,
    region: given.text('aws_region_name') ?? region ?? '${AWS_REGION:-us-west-2}',
    ...(endpoint !== null && { base_url: addressed(given, endpoint, '') }),
  };
  return { name: 'bedrock', entry, externalId: given.text('model_id') ?? model, hint: entry.region.startsWith('$') ? null : entry.region };
};

function bedrockAccess(given: Given): Record<string, string> {
  const bearer = given.secret('api_key', 'AWS_BEARER_TOKEN_BEDROCK');
  if (bearer !== null) return { api_key: bearer };
  const id = given.secret('aws_access_key_id', 'AWS_ACCESS_KEY_ID');
  const key = given.secret('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY');
  const token = given.secret('aws_session_token', 'AWS_SESSION_TOKEN');
  for (const name of [
    'aws_profile_name',
    'aws_role_name',
    'aws_session_name',
    'aws_web_identity_token',
    'aws_sts_endpoint',
    'aws_external_id',
  ]) {
    if (given.has(name)) {
      given.note(name, 'the identity comes from the environment (AWS_PROFILE, AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE) and shared files');
    }
  }
  if (id !== null && key !== null) return { access_key_id: id, secret_access_key: key, ...(token !== null && { session_token: token }) };
  return { auth: 'aws' };
}

const vertex: Vendor = (given) => {
  const { model } = given;
  if (given.has('vertex_credentials')) {
    given.note('vertex_credentials', 'set GOOGLE_APPLICATION_CREDENTIALS to the file with the credentials');
  }
  const entry = {
    dialect: 'vertex',
    auth: 'google',
    project: given.text('vertex_project', 'vertex_ai_project') ?? '${VERTEXAI_PROJECT}',
    location: given.text('vertex_location', 'vertex_ai_location') ?? '${VERTEXAI_LOCATION:-us-central1}',
  };
  const common = { name: 'vertex', entry, hint: entry.location.startsWith('$') ? null : entry.location };
  if (model.startsWith('claude')) return { ...common, externalId: model, dialect: 'anthropic' };
  const tuned = /^(?:gemini\/)?(\d+)$/.exec(model)?.[1];
  if (tuned !== undefined) return { ...common, externalId: `endpoints/${tuned}` };
  return model.startsWith('gemini') || model === '*'
    ? { ...common, externalId: model }
    : 'the gateway asks only Gemini and Claude at Vertex AI';
};

const huggingface: Vendor = (given) => {
  if (given.has('api_base', 'base_url')) return server('openai-chat', { suffix: '/v1', key: 'HF_TOKEN' })(given);
  const [host, ...name] = given.model.split('/');
  return compatible('huggingface', 'HF_TOKEN')(given.named(name.length < 2 ? given.model : `${name.join('/')}:${host}`));
};

/** The vendors by their prefixes. */
export const vendors: Readonly<Record<string, Vendor>> = {
  openai,
  custom_openai: openai,
  azure,
  anthropic,
  gemini,
  vertex_ai: vertex,
  vertex_ai_beta: vertex,
  bedrock,
  bedrock_converse: bedrock,
  huggingface,
  openai_like: server('openai-chat', { key: 'OPENAI_LIKE_API_KEY' }),
  litellm_proxy: server('openai-chat', { base: '${LITELLM_PROXY_API_BASE}', key: 'LITELLM_PROXY_API_KEY' }),
  xinference: server('openai-chat', { base: '${XINFERENCE_API_BASE:-http://127.0.0.1:9997/v1}', key: 'XINFERENCE_API_KEY' }),
  llamafile: server('openai-chat', { base: '${LLAMAFILE_API_BASE:-http://127.0.0.1:8080/v1}', key: 'LLAMAFILE_API_KEY' }),
  hosted_vllm: server('vllm', { base: '${HOSTED_VLLM_API_BASE}', key: 'HOSTED_VLLM_API_KEY' }),
  lm_studio: server('lmstudio', { key: 'LM_STUDIO_API_KEY' }),
  ollama: server('ollama', { suffix: '/v1', key: 'OLLAMA_API_KEY' }),
  ollama_chat: server('ollama', { suffix: '/v1', key: 'OLLAMA_API_KEY' }),
  groq: compatible('groq', 'GROQ_API_KEY'),
  mistral: compatible('mistral', 'MISTRAL_API_KEY'),
  deepseek: compatible('deepseek', 'DEEPSEEK_API_KEY'),
  xai: compatible('xai', 'XAI_API_KEY'),
  perplexity: compatible('perplexity', 'PERPLEXITYAI_API_KEY'),
  openrouter: compatible('openrouter', 'OPENROUTER_API_KEY'),
  together_ai: compatible('together', 'TOGETHER_API_KEY'),
  fireworks_ai: (given) =>
    compatible(
      'fireworks',
      'FIREWORKS_API_KEY',
    )(given.model.includes('/') || given.model === '*' ? given : given.named(`accounts/fireworks/models/${given.model}`)),
  cerebras: compatible('cerebras', 'CEREBRAS_API_KEY'),
  sambanova: compatible('sambanova', 'SAMBANOVA_API_KEY'),
  nvidia_nim: compatible('nvidia', 'NVIDIA_NIM_API_KEY'),
  cohere: compatible('cohere', 'COHERE_API_KEY'),
  cohere_chat: compatible('cohere', 'COHERE_API_KEY'),
  moonshot: compatible('moonshot', 'MOONSHOT_API_KEY'),
  zai: compatible('zai', 'ZAI_API_KEY'),
  dashscope: compatible('alibaba', 'DASHSCOPE_API_KEY'),
  minimax: compatible('minimax', 'MINIMAX_API_KEY'),
  nebius: compatible('nebius', 'NEBIUS_API_KEY'),
  novita: compatible('novita', 'NOVITA_API_KEY'),
  deepinfra: compatible('deepinfra', 'DEEPINFRA_API_KEY'),
  hyperbolic: compatible('hyperbolic', 'HYPERBOLIC_API_KEY'),
  baseten: compatible('baseten', 'BASETEN_API_KEY'),
  github: compatible('github', 'GITHUB_API_KEY'),
  databricks: compatible('databricks', 'DATABRICKS_API_KEY', { base: '${DATABRICKS_API_BASE}' }),
  cloudflare: compatible('cloudflare', 'CLOUDFLARE_API_KEY', {
    base: 'https://api.cloudflare.com/client/v4/accounts/${CLOUDFLARE_ACCOUNT_ID}/ai/v1',
  }),
};

/** Vendors whose models `model_name: "*"` opens, if their keys are in the environment. */
export const usualVendors: readonly string[] = ['openai', 'anthropic', 'gemini'];

/** Names without a prefix, and the vendor that LiteLLM assumes for them. */
const bare: readonly (readonly [RegExp, string])[] = [
  [openaiModels, 'openai'],
  [/^claude/, 'anthropic'],
  [/^command/, 'cohere'],
  [/^gemini/, 'vertex_ai'],
];

/** The prefix and the rest of a model's name. Null: there is no prefix, and the vendor is not known. */
export function splitName(name: string, provider: string | null): { readonly prefix: string; readonly model: string } | null {
  const [first = '', ...rest] = name.split('/');
  if (rest.length > 0 && (provider === null || provider === first)) return { prefix: first, model: rest.join('/') };
  const prefix = provider ?? bare.find(([pattern]) => pattern.test(name))?.[1] ?? null;
  return prefix === null ? null : { prefix, model: name };
}
