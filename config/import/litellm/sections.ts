/** Settings that may be in `router_settings` or in `litellm_settings`. */
import type { Draft } from '../draft.ts';
import type { Path } from '../../source.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';

/** A setting of one of the two sections. The router's own section wins. */
interface Setting {
  readonly path: Path;
  readonly value: unknown;
}

export function settingOf({ source }: Draft, name: string): Setting | null {
  for (const section of ['router_settings', 'litellm_settings']) {
    const value = fieldsOf(source.value[section])[name];
    if (value !== undefined && value !== null) return { path: [section, name], value };
  }
  return null;
}
