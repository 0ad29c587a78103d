/** Joins the arguments of a call that arrive in pieces, each with its path. wire: Vertex AI sends them with `streamFunctionCallArguments` (Vertex AI: Function calling). */
import { bare, type Fields, isFields } from '../../../core/wire/fields.ts';

type Step = string | number;

/** Collects the arguments of one call. */
export interface PartialArgs {
  /** Takes one entry of `partialArgs`. An entry without a usable path or value is ignored. */
  add(piece: unknown): void;
  /** The arguments so far, as JSON. */
  text(): string;
}

/** safety: a provider's path decides how long a list gets and how deep the value is nested, so both are limited. */
const longestList = 10_000;
const deepest = 64;

/** Makes the collector of one call. `args` are arguments that came whole at the start of the call. */
export function createPartialArgs(args: Fields = {}): PartialArgs {
  const root = bare(args);
  return {
    add(piece) {
      if (!isFields(piece)) return;
      const steps = stepsOf(piece['jsonPath']);
      const value = valueOf(piece);
      if (steps.length > 0 && value !== undefined) put(root, steps, value);
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

/** Puts a value at its path. wire: a long string comes in several pieces under one path (recorded traffic, as of 2026-11). */
function put(root: Record<Step, unknown>, steps: readonly Step[], value: unknown): void {
  let holder = root;
  for (const [at, step] of steps.entries()) {
    const next = steps[at + 1];
    const before = holder[step];
    if (next === undefined) holder[step] = typeof before === 'string' && typeof value === 'string' ? before + value : value;
    else {
      if (typeof before !== 'object' || before === null) holder[step] = typeof next === 'number' ? [] : bare({});
      holder = holder[step] as Record<Step, unknown>;
    }
  }
}
