/** Checks each file against the root schema, and the options of each plugin against the plugin's own schema. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { noOptions } from '../../core/host/plugin.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';
import { gatewaySchema } from '../../schemas/gateway.ts';
import { diagnose } from './diagnose.ts';
import { writtenAs } from '../expand.ts';
import type { Findings } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';

const ajv = new Ajv({
  // cost: optimising takes 50 ms of the start and saves less, because the validated values are small
  code: { optimize: false },
  allErrors: true,
  verbose: true,
  strict: true,
  // the branches of a `discriminator` may require keys that only their parent declares, and the reverse
  strictRequired: false,
  allowUnionTypes: true,
  useDefaults: true,
  discriminator: true,
  // `format` only helps editors; patterns and resolvers check what must be true
  validateFormats: false,
});
ajv.addVocabulary(['markdownDescription', 'defaultSnippets', 'deprecationMessage']);

const roots = new Map<string, ValidateFunction>();

/**
 * Compiles the root schema. Providers may then also have the settings that dialects declare.
 * @param settings the names of these settings
 */
export function compileRoot(settings: Iterable<string>): ValidateFunction {
  const { providers } = gatewaySchema.properties;
  const known = providers.additionalProperties;
  const more = [...settings].filter((name) => !(name in known.properties)).toSorted();
  // cost: compiling takes 20 ms or more, and each change of the file loads it again
  const compiled = roots.get(more.join());
  if (compiled !== undefined) return compiled;
  const properties = { ...known.properties, ...Object.fromEntries(more.map((name) => [name, { type: 'string', minLength: 1 }])) };
  const provider = { ...known, properties };
  const validate = ajv.compile({ ...gatewaySchema, properties: { ...gatewaySchema.properties, providers: { ...providers, additionalProperties: provider } } });
  roots.set(more.join(), validate);
  return validate;
}

/** Checks a whole file and fills defaults in, in place. Faults are reported to `findings`. */
export function validateReading(reading: Reading, validate: ValidateFunction, findings: Findings): void {
  check({ reading, base: [], value: reading.value, validate }, findings);
}

/**
 * Checks the options of a plugin and fills defaults in, in place. Faults are reported to `findings`. Throws an `Error` where the
 * plugin's own schema is not valid.
 */
export function validateOptions(at: { reading: Reading; base: Path; value: unknown }, plugin: AnyPlugin, findings: Findings): void {
  check({ ...at, validate: compileOptions(plugin) }, findings);
}

const compiled = new WeakMap<object, ValidateFunction>();

function compileOptions({ name, schema = noOptions }: AnyPlugin): ValidateFunction {
  try {
    const known = compiled.get(schema) ?? ajv.compile(schema);
    compiled.set(schema, known);
    return known;
  } catch (thrown) {
    throw new Error(`the options schema of ${name} is not valid: ${(thrown as Error).message}`, { cause: thrown });
  }
}

interface Check {
  readonly reading: Reading;
  /** The path of `value` in the file. */
  readonly base: Path;
  readonly value: unknown;
  readonly validate: ValidateFunction;
}

function check({ reading, base, value, validate }: Check, findings: Findings): void {
  const { source, expansion } = reading;
  const pathOf = (error: ErrorObject): Path => [...base, ...pointerSteps(error.instancePath, value)];
  if (validate(value)) return;
  const isConverted = (error: ErrorObject): boolean =>
    error.keyword === 'type' && writtenAs(source, expansion, pathOf(error)) !== null && convert(value, pathOf(error).slice(base.length), error);
  if ((validate.errors ?? []).filter(isConverted).length > 0 && validate(value)) return;
  const isReported = (path: Path): boolean => !findings.isSound({ source, path }) || expansion.missing.some((miss) => miss.path.join('\0') === path.join('\0'));
  const unreported = (validate.errors ?? []).filter((error) => !isReported(pathOf(error)) || typeof error.data === 'object');
  for (const { path, at, message, hint } of diagnose(unreported, { pathOf, source, expansion })) findings.error({ source, path, at }, message, hint);
}

/** Converts text that came from a variable to the type that the schema wants: `4000` to a number, `true` to a boolean. Returns whether it did. */
function convert(root: unknown, path: Path, error: ErrorObject): boolean {
  const wanted = [(error.params as { type: string | string[] }).type].flat();
  const text = String(error.data);
  const holder = path.slice(0, -1).reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], root) as Record<string, unknown>;
  const last = path.at(-1);
  if (last === undefined) return false;
  const isNumber = wanted.some((type) => type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text);
  const isBoolean = wanted.includes('boolean') && (text === 'true' || text === 'false');
  if (isNumber) holder[last] = Number(text);
  else if (isBoolean) holder[last] = text === 'true';
  return isNumber || isBoolean;
}

/** The path of a JSON pointer: `/models/0/id` → `['models', 0, 'id']`. A step into a list is a number. */
function pointerSteps(pointer: string, root: unknown): Path {
  const path: (string | number)[] = [];
  let value = root;
  for (const raw of pointer.split('/').slice(1)) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(step) : step);
    value = (value as Record<string, unknown> | undefined)?.[step];
  }
  return path;
}
