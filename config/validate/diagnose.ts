/** Turns the errors of a validator into sentences for the person who edits the YAML: where, what is wrong, what to write. */
import type { ErrorObject } from 'ajv';
import { withoutConsequences } from './consequences.ts';
import type { Expansion } from '../expand.ts';
import { didYouMean } from '../problems.ts';
import type { Path, Source } from '../source.ts';
import { isSecretPath } from '../masks.ts';
import { literalAt } from '../source.ts';

/** One fault of a file, in words. */
interface Diagnosis {
  /** Where the fault is. */
  readonly path: Path;
  /** Which of the two is wrong: the key at `path`, or its value. */
  readonly at: 'key' | 'value';
  readonly message: string;
  /** What to write instead; null where nothing can be proposed. */
  readonly hint: string | null;
}

/** The file that the errors are about: the sentences quote it. */
export interface Origin {
  readonly source: Source;
  readonly expansion: Expansion;
  /** The path of an error's value, counted from the root of the file. */
  pathOf(error: ErrorObject): Path;
}

interface Sentence {
  readonly message: string;
  readonly hint?: string | null;
  /** The faulty key, which is below the path of the error; absent where the value at that path is faulty. */
  readonly key?: string;
}

/** Takes the errors of one Ajv run and returns one diagnosis for each fault. Errors that follow from another error are left out. */
export function diagnose(errors: readonly ErrorObject[], origin: Origin): Diagnosis[] {
  const faults = withoutConsequences(errors);
  return faults.map((error) => {
    const { message, hint = null, key } = (sentences[error.keyword] ?? plain)(error, origin);
    const path = origin.pathOf(error);
    return { path: key === undefined ? path : [...path, key], at: key === undefined ? 'value' : 'key', message, hint };
  });
}

const sentences: Readonly<Record<string, (error: ErrorObject, origin: Origin) => Sentence>> = {
  additionalProperties(error) {
    const key = textParam(error, 'additionalProperty');
    if (error.instancePath === '' && keysOfOthers.has(key)) {
      return {
        message: 'is a key of another gateway',
        hint: `make a config for Model Gateway from this file: gateway import ${keysOfOthers.get(key)} FILE`,
        key,
      };
    }
    return { message: 'unknown key', hint: lowerCaseKey(error, key) ?? keyHint(key, siblings(error)), key };
  },
  required: (error) => ({ message: `needs "${textParam(error, 'missingProperty')}"` }),
  type(error, origin) {
    const wanted = [param(error, 'type') as string | string[]].flat();
    return {
      message: `expected ${wanted.map((type) => typeWords[type] ?? type).join(' or ')}, got ${got(error, origin)}`,
      hint: typeHint(error, origin, wanted),
    };
  },
  enum(error, origin) {
    const allowed = (param(error, 'allowedValues') as unknown[]).map(String);
    // the other forms that a choice allows are in its description
    const others = /\/(?:anyOf|oneOf)\/\d+\/enum$/.test(error.schemaPath) ? wantedText(error) : null;
    return {
      message: `${quoted(error, origin)} is not one of ${allowed.join(', ')}`,
      hint: didYouMean(String(error.data), allowed) ?? others,
    };
  },
  const: (error) => ({ message: `expected ${JSON.stringify(param(error, 'allowedValue'))}` }),
  pattern(error, origin) {
    if (error.propertyName !== undefined) {
      return { message: `"${error.propertyName}" is not a valid name here`, hint: wantedText(error), key: error.propertyName };
    }
    return { message: `${quoted(error, origin)} is not valid here`, hint: lowerCaseHint(error, origin) ?? wantedText(error) };
  },
  discriminator(error) {
    const tag = textParam(error, 'tag');
    const value = param(error, 'tagValue');
    const allowed = branchTags(error, tag);
    if (value === undefined) return { message: `needs "${tag}"`, hint: `one of ${allowed.join(', ')}` };
    return {
      message: `${tag} ${JSON.stringify(value)} is not one of ${allowed.join(', ')}`,
      hint: didYouMean(textParam(error, 'tagValue'), allowed),
    };
  },
  minLength: (error, origin) => ({
    message:
      textParam(error, 'limit') === '1'
        ? 'must not be empty'
        : `${quoted(error, origin)} is too short, at least ${limitOf(error, 'character', 'characters')}`,
  }),
  maxLength: (error, origin) => ({ message: `${quoted(error, origin)} is too long, at most ${limitOf(error, 'character', 'characters')}` }),
  minProperties: (error) => ({ message: `needs at least ${limitOf(error, 'key', 'keys')}`, hint: wantedText(error) }),
  minItems: (error) => ({ message: `needs at least ${limitOf(error, 'entry', 'entries')}` }),
  maxItems: (error) => ({ message: `has ${(error.data as unknown[]).length} entries, at most ${textParam(error, 'limit')}` }),
  uniqueItems: (error) => ({ message: `the entries ${Number(param(error, 'i')) + 1} and ${Number(param(error, 'j')) + 1} are the same` }),
  minimum: (error, origin) => ({ message: `${quoted(error, origin)} is too small, at least ${textParam(error, 'limit')}` }),
  exclusiveMinimum: (error, origin) => ({ message: `${quoted(error, origin)} is too small, more than ${textParam(error, 'limit')}` }),
  exclusiveMaximum: (error, origin) => ({ message: `${quoted(error, origin)} is too large, less than ${textParam(error, 'limit')}` }),
  maximum: (error, origin) => ({ message: `${quoted(error, origin)} is too large, at most ${textParam(error, 'limit')}` }),
  anyOf: (error) => ({ message: 'fits none of the forms that are allowed here', hint: wantedText(error) }),
  oneOf: (error) => ({ message: 'fits none of the forms that are allowed here', hint: wantedText(error) }),
};

/** For a value that is wrong only because of its capitals, such as the name of metadata `meta.Tenant`. */
function lowerCaseHint(error: ErrorObject, { expansion, pathOf }: Origin): string | null {
  const path = pathOf(error);
  const lower = String(error.data).toLowerCase();
  if (expansion.unexpanded(path) !== null || isSecretPath(path) || !new RegExp(schemaOf(error).pattern ?? '', 'u').test(lower)) return null;
  return `write it in lower case: "${lower}"`;
}

/** For a key that is wrong only because of its capitals, such as the name of metadata in a rule. */
function lowerCaseKey(error: ErrorObject, key: string): string | null {
  const isValid = Object.keys(schemaOf(error).patternProperties ?? {}).some((pattern) => new RegExp(pattern, 'u').test(key.toLowerCase()));
  return isValid ? `write it in lower case: "${key.toLowerCase()}"` : null;
}

/**
 * What an unknown key was probably meant to be: `rpm` means `requests_per_minute`, and `port:4000` in a flow map is a key without a value.
 */
function keyHint(key: string, known: readonly string[]): string | null {
  if (/[^:]:./.test(key) && known.includes(key.slice(0, key.indexOf(':')))) return 'write a space after the colon';
  const whole = known.find(
    (name) =>
      name.includes('_') &&
      name
        .split('_')
        .map((word) => word.charAt(0))
        .join('') === key,
  );
  return whole === undefined ? didYouMean(key, known) : `did you mean "${whole}"?`;
}

const plain = (error: ErrorObject): Sentence => ({ message: error.message ?? `breaks the rule "${error.keyword}"` });

/** Keys that only the config of another gateway has, and the name of that gateway: people begin with the file that they have. */
const keysOfOthers: ReadonlyMap<string, string> = new Map([
  ...['model_list', 'litellm_settings', 'router_settings', 'general_settings'].map((key) => [key, 'litellm'] as const),
  ['targets', 'portkey'],
]);

const typeWords: Readonly<Record<string, string>> = { object: 'map', array: 'list', null: 'null' };

const param = (error: ErrorObject, name: string): unknown => (error.params as Record<string, unknown>)[name];
const textParam = (error: ErrorObject, name: string): string => String(param(error, name));
const limitOf = (error: ErrorObject, one: string, many: string): string =>
  `${textParam(error, 'limit')} ${textParam(error, 'limit') === '1' ? one : many}`;

interface SchemaPart {
  readonly description?: string;
  readonly pattern?: string;
  readonly patternProperties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { const?: unknown; enum?: unknown[] }>>;
  readonly oneOf?: readonly SchemaPart[];
}

const schemaOf = (error: ErrorObject): SchemaPart => (error.parentSchema ?? {}) as SchemaPart;
const siblings = (error: ErrorObject): string[] => Object.keys(schemaOf(error).properties ?? {});

function branchTags(error: ErrorObject, tag: string): string[] {
  const tags = (schemaOf(error).oneOf ?? []).map(({ properties }) => properties?.[tag]);
  return tags.flatMap((schema) => schema?.enum ?? [schema?.const]).map(String);
}

function wantedText(error: ErrorObject): string | null {
  const { description } = schemaOf(error);
  return description === undefined ? null : `expected: ${description}`;
}

/**
 * The value as the file writes it, numbers with all their digits. A
 * secret, and a value from the environment or another file, is not quoted.
 */
function quoted(error: ErrorObject, { source, expansion, pathOf }: Origin): string {
  const path = pathOf(error);
  const written = expansion.unexpanded(path);
  if (written !== null) return `the value of ${written}`;
  if (isSecretPath(path)) return 'this value';
  return typeof error.data === 'string' ? JSON.stringify(error.data) : literal(error, source, path);
}

const literal = (error: ErrorObject, source: Source, path: Path): string => literalAt(source, path) ?? String(error.data);

/** `1e-6` → `0.000001`, the form that a price takes. */
const withoutExponent = (text: string): string =>
  /^\d[\d.]*e-\d+$/i.test(text)
    ? Number(text)
        .toFixed(12)
        .replace(/\.?0+$/, '')
    : text;

function got(error: ErrorObject, origin: Origin): string {
  const { data } = error;
  if (data === null) return 'nothing';
  if (Array.isArray(data)) return 'a list';
  if (typeof data === 'object') return 'a map';
  const path = origin.pathOf(error);
  if (origin.expansion.unexpanded(path) !== null) return quoted(error, origin);
  return isSecretPath(path) ? `${typeof data} (not shown, because it may be a secret)` : `${typeof data} ${quoted(error, origin)}`;
}

const yesAndNo: ReadonlyMap<string, string> = new Map([
  ...['yes', 'on', 'true'].map((word) => [word, 'true'] as const),
  ...['no', 'off', 'false'].map((word) => [word, 'false'] as const),
]);

const unitsInMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** The unit of a setting, by the end of its name. */
const unitsOfSettings: ReadonlyMap<string, string> = new Map([
  ['ms', 'ms'],
  ['seconds', 's'],
  ['minutes', 'm'],
  ['days', 'd'],
]);

/** `30s` → 30000 for a setting in milliseconds; null where the text is not a time, or not a whole number of the setting's unit. */
function timeOf(text: string, path: Path): number | null {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) ?(\w+)$/.exec(text) ?? [];
  const suffixes = path.map((step) => /_([a-z]+)$/.exec(String(step))?.[1] ?? '');
  const wanted = suffixes.map((suffix) => unitsOfSettings.get(suffix)).findLast((name) => name !== undefined);
  const time = (Number(number) * (unitsInMs.get(unit) ?? NaN)) / (unitsInMs.get(wanted ?? '') ?? NaN);
  // doubles are not exact: 2.01 * 1000 is a little less than 2010
  const rounded = Math.round(time);
  return Math.abs(time - rounded) < 1e-6 ? rounded : null;
}

function typeHint(error: ErrorObject, { source, expansion, pathOf }: Origin, wanted: readonly string[]): string | null {
  const data: unknown = error.data;
  const path = pathOf(error);
  if (typeof data === 'object' && source.text.startsWith('{{', source.find(path).value?.[0])) {
    return 'this template was not filled in; a variable of the environment is written as ${NAME}';
  }
  if (typeof data === 'object' && wanted.includes('array')) return 'begin each entry with "- "';
  if (Array.isArray(data) && wanted.includes('object')) return 'a map has lines of the form "name: value", without "- "';
  if (typeof data === 'string' && wanted.includes('object') && /^[\w-]+:(?!\/\/)\S/.test(data)) return 'write a space after the colon';
  if (typeof data === 'string' && wanted.includes('object') && wanted.includes('array')) return wantedText(error);
  const { required = [] } = schemaOf(error);
  if (typeof data === 'string' && wanted.includes('object') && required.length > 0) {
    return `write { ${required.map((name) => `${name}: …`).join(', ')} }`;
  }
  if (expansion.unexpanded(path) !== null || isSecretPath(path)) return null;
  if (typeof data === 'number' || typeof data === 'boolean') {
    const text = withoutExponent(literal(error, source, path));
    // the text would be a fault even in quotes, so quotes are not proposed
    if (!new RegExp(schemaOf(error).pattern ?? '', 'u').test(text)) return wantedText(error);
    return wanted.includes('string') ? `write "${text}" in quotes` : null;
  }
  if (typeof data !== 'string') return null;
  const wantsNumber = wanted.includes('integer') || wanted.includes('number');
  if (wantsNumber && /^-?\d+$/.test(data)) return `did you mean ${data} (without quotes)?`;
  const time = wantsNumber ? timeOf(data, path) : null;
  if (time !== null) return `did you mean ${time}?`;
  const truth = wanted.includes('boolean') ? yesAndNo.get(data.toLowerCase()) : undefined;
  if (truth !== undefined) return `did you mean ${truth}${truth === data ? ' (without quotes)' : ''}?`;
  return wanted.includes('array') ? `did you mean [${data}]?` : null;
}
