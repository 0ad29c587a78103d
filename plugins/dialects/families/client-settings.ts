/**
 * Fields that clients such as LiteLLM read as "send this request elsewhere" or "with that key".
 * safety: they may hold a secret of the caller, so no provider gets them, in whichever wire format.
 * wire: a proxy of LiteLLM obeys such fields too: `headers` go to the provider behind it, and with `user_config`
 * the caller brings models, addresses and fallbacks of its own (BerriAI/litellm#27084)
 */
import type { Fields } from '../../../core/wire/fields.ts';

const settings: ReadonlySet<string> = new Set(['api_key', 'api_base', 'base_url', 'extra_headers', 'headers', 'user_config']);

export const isClientSetting = (field: string): boolean => settings.has(field);

/** The fields that a provider may get. @param drop notes each of the others */
export function withoutClientSettings(fields: Fields, drop: (field: string, value: unknown) => void): Fields {
  const sent: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields)) {
    if (isClientSetting(field)) drop(field, value);
    else sent[field] = value;
  }
  return sent;
}
