/** The fields of Portkey's config objects: how they are spelled, which are read, and what to do about the others. */
import { bare, fieldsOf } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Place } from '../draft.ts';
import { guard } from '../litellm/without-counterpart.ts';

/** Portkey takes `override_params` and `overrideParams`. */
export const snake = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

/** The fields of a target that are read. */
export const ofTargets = new Set([
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
/** The fields of a whole config that are read. */
export const ofConfigs = new Set([...ofTargets, 'retry', 'cache', 'request_timeout']);

const advice: Readonly<Record<string, string>> = bare({
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
});

interface Others extends Place {
  readonly known: ReadonlySet<string>;
}

/** Notes the fields that have no counterpart here. */
export function noteOthers(fields: Fields, { path, known, draft }: Others): void {
  for (const name of Object.keys(fields)) if (!known.has(name)) draft.note([...path, name], advice[name] ?? 'has no counterpart');
  for (const name of Object.keys(fieldsOf(fields['override_params']))) {
    if (name !== 'model') draft.note([...path, 'override_params', name], setByCallers);
  }
}

const setByCallers = 'the gateway sets no parameters for its callers: let them send it, or set it in a plugin at `normalise`';
