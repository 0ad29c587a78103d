/** Checks each file against the root schema, and the options of each plugin against the plugin's own schema. */
import { noOptions } from '../../core/host/plugin.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';
import { schemaWith } from '../../schemas/gateway.ts';
import { diagnose } from './diagnose.ts';
import type { Findings } from '../problems.ts';
import { keyOf } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';
import { validatorOf } from './validator.ts';
import type { Fault, Validator } from './validator.ts';

const roots = new Map<string, Validator>();

/** The validator of the root schema, with the settings that dialects declare. */
export function rootValidator(settings: Iterable<string>): Validator {
  const names = [...settings].toSorted();
  // cost: each change of the file asks again, and compiling takes 100 ms
  const known = roots.get(names.join()) ?? validatorOf(schemaWith(names));
  roots.set(names.join(), known);
  return known;
}

/** Checks a whole file and fills defaults in, in place. Faults are reported to `findings`. */
export function validateReading(reading: Reading, validator: Validator, findings: Findings): void {
  check({ reading, base: [], value: reading.value, validator }, findings);
}

/**
 * Checks the options of a plugin and fills defaults in, in place. Faults are reported to `findings`. Throws an `Error` where the
 * plugin's own schema is not valid.
 */
export function validateOptions(at: { reading: Reading; base: Path; value: unknown }, plugin: AnyPlugin, findings: Findings): void {
  check({ ...at, validator: optionsValidator(plugin) }, findings);
}

const ofOptions = new WeakMap<object, Validator>();

function optionsValidator({ name, schema = noOptions }: AnyPlugin): Validator {
  try {
    const known = ofOptions.get(schema) ?? validatorOf(schema);
    ofOptions.set(schema, known);
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
  readonly validator: Validator;
}

function check({ reading, base, value, validator }: Check, findings: Findings): void {
  const { source, expansion } = reading;
  const pathOf = ({ instancePath }: Fault): Path => [...base, ...pointerSteps(instancePath, value)];
  const isMissing = (path: Path): boolean => expansion.missing.some((miss) => keyOf(miss.path) === keyOf(path));
  const { accepts, explains } = validator;
  // a provider whose variable is not set is off, and that causes no fault
  const isFine = (): boolean => accepts(value) || (accepts.errors ?? []).every((fault) => isMissing(pathOf(fault)));
  if (isFine()) return;
  let hasChanged = false;
  for (const fault of accepts.errors ?? []) {
    const path = pathOf(fault);
    const isOfType = fault.keyword === 'type' || fault.keyword === 'const';
    if (isOfType && expansion.unexpanded(path) !== null && convert(value, path.slice(base.length), fault)) hasChanged = true;
  }
  if (hasChanged && isFine()) return;
  const validate = explains();
  validate(value);
  const isReported = (path: Path): boolean => !findings.isSound({ source, path }) || isMissing(path);
  const unreported = (validate.errors ?? []).filter((error) => !isReported(pathOf(error)) || typeof error.data === 'object');
  for (const { path, at, message, hint } of diagnose(unreported, { pathOf, source, expansion })) {
    findings.error({ source, path, at }, message, hint);
  }
}

/**
 * Converts text that came from a variable to the type that the schema
 * wants: `4000` to a number, `true` to a boolean. Returns whether it did.
 */
function convert(root: unknown, path: Path, { params }: Fault): boolean {
  const { type = [], allowedValue } = params as { type?: string | string[]; allowedValue?: unknown };
  const wanted = [typeof allowedValue === 'boolean' ? 'boolean' : type].flat();
  const holder = path.slice(0, -1).reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], root) as Record<
    string,
    unknown
  >;
  const last = path.at(-1);
  if (last === undefined) return false;
  const text = String(holder[last]);
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
