/**
 * Reads YAML without references, tags, anchors and other rare things. cost: the catalogue takes 40 ms, and 210 ms with the YAML parser,
 * which keeps the places of values. That one reads every other text, and this text too where a place is asked for.
 */
import { CORE_SCHEMA, load } from 'js-yaml';
import { isFields } from '../core/wire/fields.ts';

/** References, aliases, tags and directives; and what the two readers take differently. */
const unusual = /\$[{$]|^[^#\n]*\$\w|(?:^|[\s[{,])[&*!?:]|^%|^ +---|^ *\t|\r|<<|__proto__|(?<!: )(?:null|~)\s*[:,}]|\d[eE][+-]?\d{3}/im;

/** The values that the YAML parser would give. Null: the text is for the YAML parser, which also says what is wrong. */
export function readQuickYaml(text: string): Record<string, unknown> | null {
  if (unusual.test(text)) return null;
  try {
    const value = load(text, { schema: CORE_SCHEMA });
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}
