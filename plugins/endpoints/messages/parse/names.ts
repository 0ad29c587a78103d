/**
 * The names of tools. This format allows longer names than other formats: other providers get a shortened name, and a provider of
 * the same format gets the caller's own name. Clients make long names from the names of a plugin, a server and the server's tool
 * (BerriAI/litellm#17904, openclaw/openclaw#12892, 2026).
 */
import type { ChatRequest, Native } from '../../../../core/chat.ts';
import { shortToolName } from '../../../../core/names.ts';
import { textOf } from '../../../../core/wire/fields.ts';

/**
 * The fields that keep the caller's own name, where it is not the one that other providers get.
 * @param native what else only this format has
 */
export function ownName(name: string, native?: Native): { readonly native?: Native } {
  if (shortToolName(name) !== name) {
    return {
      native: {
        ...native,
        fields: { ...native?.fields, name },
        changed: [{ parameter: 'tools.name', change: 'shortened to 64 characters' }],
      },
    };
  }
  return native === undefined ? {} : { native };
}

/** The caller's own names of the tools whose names were shortened, by the short name. */
export const ownNames = ({ tools }: Pick<ChatRequest, 'tools'>): ReadonlyMap<string, string> =>
  new Map(
    (tools ?? []).flatMap(({ function: described, native }) => {
      const own = textOf(native?.fields['name']);
      return described === undefined || own === null ? [] : [[described.name, own] as const];
    }),
  );
