/** The query parameters of the list. */
import { GatewayError } from '../../../core/errors.ts';
import { nearest } from '../../../core/names.ts';

/** The query parameters that are on or off. */
const switchHelp = {
  include_deactivated: 'true: deactivated models too.',
  exclude_deprecated: 'true: without deprecated models.',
  no_training: 'true: only models and providers that do not train on requests.',
  include_unavailable: 'true: also models whose providers are all off.',
};

export type Switches = Readonly<Record<keyof typeof switchHelp, boolean>>;
const switches = Object.keys(switchHelp) as (keyof Switches)[];

export const queryHelp = {
  ...switchHelp,
  limit: 'In the form of the Messages API: models on a page.',
  after_id: 'In that form: the model before the page.',
  before_id: 'In that form: the model after the page.',
  lifecycle: 'In that form: only models that are active, deprecated or retired; it may be given more than once, also as `lifecycle[]`.',
};

/**
 * Throws `invalid_value` for a value that is neither true nor false, and for a misspelt name of a parameter.
 * safety: a misspelt filter that is ignored would show more than was asked for.
 */
export function switchesOf(query: URLSearchParams): Switches {
  for (const name of query.keys()) {
    const meant = (switches as readonly string[]).includes(name) ? null : nearest(name, switches);
    if (meant === null) continue;
    const param = name.slice(0, 100);
    throw new GatewayError('invalid_value', `There is no query parameter "${param}". Did you mean "${meant}"?`, { param });
  }
  return Object.fromEntries(switches.map((name) => [name, isOn(query, name)])) as Switches;
}

const words: ReadonlyMap<string, boolean> = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }));

function isOn(query: URLSearchParams, name: string): boolean {
  const [value = false, ...others] = new Set(query.getAll(name).map((word) => words.get(word.toLowerCase()) ?? null));
  if (value === null || others.length > 0) {
    throw new GatewayError('invalid_value', `The query parameter "${name}" must be true or false.`, { param: name });
  }
  return value;
}
