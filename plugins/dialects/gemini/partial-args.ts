/**
 * Joins the arguments of a call that arrive in pieces, each with its path.
 * wire: Vertex AI sends them with `streamFunctionCallArguments` (Vertex AI: Function calling).
 */
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { bare, type Fields, isFields } from '../../../core/wire/fields.ts';

type Step = string | number;

/** Collects the arguments of one call. */
export interface PartialArgs {
  /**
   * Takes one entry of `partialArgs`. An entry without a usable path or value is ignored.
   * Throws `upstream_invalid_response` where the pieces of an answer are longer than 16 MiB.
   */
  add(piece: unknown): void;
  /** The arguments so far, as JSON. */
  text(): string;
}

/** safety: a provider's path decides how long a list gets and how deep the value is nested, so both are limited. */
const longestList = 10_000;
const deepest = 64;
/** safety: a short path may make 64 lists of 10,000 places, and pieces come as long as the answer lasts. */
const longestText = 16_777_216;

/**
 * Makes the collector of one call. `args` are arguments that came whole at the start of the call.
 * @param pieces the characters of all pieces of the answer: each of its choices may have a call
 */
export function createPartialArgs(args: Fields = {}, pieces: { length: number } = { length: 0 }): PartialArgs {
  const root = bare(args);
  return {
    add(piece) {
      if (!isFields(piece)) return;
      const steps = stepsOf(piece['jsonPath']);
      const value = valueOf(piece);
      if (steps.length > 0 && value !== undefined) pieces.length += put(root, steps, value);
      if (pieces.length > longestText) throw invalidAnswer('arguments of a tool call that are too long');
    },
    text: () => JSON.stringify(root),
  };
}

/** The steps of a path such as `$.cities[0]['post code']`. Empty if the text is no such path, or is beyond the limits. */
function stepsOf(path: unknown): Step[] {
  if (typeof path !== 'string' || !path.startsWith('$')) return [];
  const steps: Step[] = [];
  const pattern = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
  pattern.lastIndex = 1;
  while (pattern.lastIndex < path.length) {
    const found = pattern.exec(path);
    if (found === null) return [];
    const [, plain, index, single, double] = found;
    if (index !== undefined) steps.push(Number(index));
    else steps.push(plain ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  return steps.length > deepest || steps.some((step) => typeof step === 'number' && step > longestList) ? [] : steps;
}

function valueOf(piece: Fields): unknown {
  for (const [field, value] of Object.entries(piece)) {
    if (field === 'stringValue' || field === 'numberValue' || field === 'boolValue') return value;
    if (field === 'nullValue') return null;
  }
  return undefined;
}

/**
 * Puts a value at its path, and returns about how many characters of JSON
 * this adds. A path with a name where the value is a list is ignored.
 * wire: a long string comes in several pieces under one path (recorded traffic, as of 2026-11).
 */
function put(root: Record<Step, unknown>, steps: readonly Step[], value: unknown): number {
  let holder = root;
  let added = typeof value === 'string' ? value.length : perValue;
  for (const [at, step] of steps.entries()) {
    if (Array.isArray(holder) && typeof step === 'string') break;
    // safety: objects that came whole, and lists, inherit a `__proto__` that all objects of the process share: only own fields are read
    const before = Object.hasOwn(holder, step) ? holder[step] : undefined;
    if (before === undefined) {
      added += perValue + (Array.isArray(holder) ? Math.max(0, Number(step) - holder.length) * perGap : String(step).length);
    }
    if (at === steps.length - 1) set(holder, step, typeof before === 'string' && typeof value === 'string' ? before + value : value);
    else if (typeof before === 'object' && before !== null) holder = before as Record<Step, unknown>;
    else holder = set(holder, step, typeof steps[at + 1] === 'number' ? [] : bare({})) as Record<Step, unknown>;
  }
  return added;
}

/** The characters of `null,`, which JSON writes for each place of a list without a value. */
const perGap = 5;
const perValue = 8;

function set(holder: Record<Step, unknown>, step: Step, value: unknown): unknown {
  Object.defineProperty(holder, step, { value, writable: true, enumerable: true, configurable: true });
  return value;
}
