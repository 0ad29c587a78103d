/** Arguments of a call that arrive in pieces, each with its place: Vertex AI's `streamFunctionCallArguments`. */

type Fields = Readonly<Record<string, unknown>>;

type Step = string | number;

/** Collects the arguments of one call. */
export interface PartialArgs {
  /** Takes one entry of `partialArgs`. */
  add(piece: unknown): void;
  /** All that came, as JSON. */
  text(): string;
}

/** safety: an index sizes a list, and steps nest it. */
const longestList = 10_000;
const deepest = 64;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** An empty collection, or one that begins with `args` which came whole. */
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

/** safety: no prototype, so that `__proto__` is a name like any other. */
const bare = (fields: Fields = {}): Record<Step, unknown> => Object.assign(Object.create(null) as Record<Step, unknown>, fields);

/** `$.cities[0]['post code']` → its steps; none for what is no such path. */
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

/** wire: a long string comes in several pieces under one path. */
function put(root: Record<Step, unknown>, steps: readonly Step[], value: unknown): void {
  let holder = root;
  for (const [at, step] of steps.entries()) {
    const next = steps[at + 1];
    const before = holder[step];
    if (next === undefined) holder[step] = typeof before === 'string' && typeof value === 'string' ? before + value : value;
    else {
      if (typeof before !== 'object' || before === null) holder[step] = typeof next === 'number' ? [] : bare();
      holder = holder[step] as Record<Step, unknown>;
    }
  }
}
