/** The parameters of one deployment, as the new file writes them: references in its own form, secrets as variables. */
import type { Draft, Place } from '../draft.ts';
import { literal, reference, variableOf } from '../draft.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Path } from '../../source.ts';
import { isFields } from '../../../core/wire/fields.ts';
import { textOf } from '../foreign.ts';

const environ = /^os\.environ\/(.+)$/;

/** Names of variables that the file refers to. */
export function variablesOf(value: unknown): string[] {
  if (typeof value === 'string') return [environ.exec(value)?.[1] ?? []].flat();
  if (Array.isArray(value)) return value.flatMap(variablesOf);
  return isFields(value) ? Object.values(value).flatMap(variablesOf) : [];
}

/** Numbers of the file that the import reads or counts with. */
const numbers: ReadonlySet<string | number | undefined> = new Set([
  'rpm',
  'tpm',
  'weight',
  'order',
  'timeout',
  'request_timeout',
  'num_retries',
  'allowed_fails',
  'cooldown_time',
  'max_budget',
  'max_parallel_requests',
  'global_max_parallel_requests',
  'ttl',
]);

/** Notes the numbers that the file leaves to the environment: the import must convert them or add them up, and a reference has no value. */
export function noteNumbers(value: unknown, { draft, path }: Place): void {
  if (typeof value === 'string' && environ.test(value) && numbers.has(path.at(-1))) {
    draft.note(path, 'its value is in the environment, so it was not imported: write the number');
  } else if (Array.isArray(value)) value.forEach((one, at) => noteNumbers(one, { draft, path: [...path, at] }));
  else if (isFields(value)) for (const [name, one] of Object.entries(value)) noteNumbers(one, { draft, path: [...path, name] });
}

/** A value as the new file writes it. */
export function written(text: string): string {
  const variable = environ.exec(text)?.[1];
  return variable === undefined ? literal(text) : reference(variable);
}

/** Placeholder words in place of a key that is not needed. */
const noKey = /^(?:none|null|empty|dummy|not-needed|no-key|)$/i;

export class Given {
  readonly params: Fields;
  readonly path: Path;
  readonly draft: Draft;
  /** The name of the model without the vendor's prefix. */
  readonly model: string;
  readonly #used: Set<string>;

  constructor(model: string, params: Fields, place: Place & { readonly used?: Set<string> }) {
    this.model = model;
    this.params = params;
    this.path = place.path;
    this.draft = place.draft;
    this.#used = place.used ?? new Set();
  }

  /** The same parameters under another name of the model. */
  named(model: string): Given {
    return new Given(model, this.params, { path: this.path, draft: this.draft, used: this.#used });
  }

  /** The first of these parameters that is set. */
  text(...names: readonly string[]): string | null {
    for (const name of names) this.#used.add(name);
    const name = names.find((one) => textOf(this.params[one]) !== null);
    const found = name === undefined ? null : textOf(this.params[name]);
    if (name === undefined || found === null) return null;
    // safety: an address may hold a password
    return /^\w+:\/\/[^/]*@/.test(found) ? this.draft.secret(found, variableOf(name), [...this.path, name]) : written(found);
  }

  /** Null: not set. `none`: set, and no key is needed. @param variable the name that a literal key gets */
  secret(name: string, variable: string): string | null {
    this.#used.add(name);
    const text = textOf(this.params[name]);
    if (text === null) {
      this.draft.implied.add(variable);
      return null;
    }
    if (noKey.test(text)) return 'none';
    return environ.test(text) ? written(text) : this.draft.secret(text, variable, [...this.path, name]);
  }

  /** Whether one of these parameters is set, whatever its value. */
  has(...names: readonly string[]): boolean {
    return names.some((name) => this.params[name] !== undefined && this.params[name] !== null);
  }

  use(...names: readonly string[]): void {
    for (const name of names) this.#used.add(name);
  }

  note(name: string, todo: string): void {
    this.#used.add(name);
    this.draft.note([...this.path, name], todo);
  }

  /** Parameters that no other part has read. */
  left(): string[] {
    return Object.keys(this.params).filter((name) => !this.#used.has(name) && this.params[name] !== null);
  }
}
