/**
 * Reads YAML without tags, anchors and other rare things. cost: the catalogue takes 40 ms, and 210 ms with the YAML parser,
 * which keeps the places of values. That parser reads every other text, and this text too where the place of a value is needed.
 */
import { CORE_SCHEMA, load } from 'js-yaml';
import { isFields } from '../../core/wire/fields.ts';
import { hideBraces, showBraces } from '../source.ts';

/** Aliases, tags and directives, and texts that the two readers read differently. */
const unusual = /(?:^|[\s[{,])[&*!?:]|^%|^ *\.{3}|^ +---|^ *\t|\r|<<|__proto__|(?<!: )(?:null|~)\s*[:,}]|\d[eE][+-]?\d{3}/im;

/** The values that the YAML parser would give, with their references. Null: the YAML parser must read the text, and reports its faults. */
export function readQuickYaml(text: string): Record<string, unknown> | null {
  const hidden = hideBraces(text);
  if (unusual.test(hidden)) return null;
  try {
    const hiding = load(hidden, { schema: CORE_SCHEMA });
    const value = hidden === text ? hiding : withBraces(hiding);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

/** The value with its references in the form that the text has. */
function withBraces(value: unknown): unknown {
  if (typeof value === 'string') return showBraces(value);
  if (Array.isArray(value)) return value.map(withBraces);
  return isFields(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [showBraces(key), withBraces(item)])) : value;
}
