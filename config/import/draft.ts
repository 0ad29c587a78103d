/** A config in the making: the new entries, and the parts of the other gateway's file that have no counterpart. */
import type { Path } from '../source.ts';
import type { Foreign, Spot } from './foreign.ts';

/** An entry of the new file, with a comment beside it. */
export interface Item {
  readonly value: Readonly<Record<string, unknown>>;
  readonly remark: string;
}

/** A part of the other file that has no counterpart, or only a wider one. */
export interface Note {
  /** The line in the other file; 0: the note is about no line. */
  readonly line: number;
  /** The text on that line, without its value where that may be a secret. */
  readonly what: string;
  readonly todo: string;
}

/** A place in the other file, and the draft that is made of that file. */
export interface Place {
  readonly draft: Draft;
  readonly path: Path;
}

export class Draft {
  readonly server: Record<string, unknown> = {};
  readonly keys: Item[] = [];
  readonly providers = new Map<string, Item>();
  readonly models = new Map<string, Item>();
  readonly policies = new Map<string, Record<string, unknown>>();
  /** `routing.default`. */
  readonly usual: Record<string, unknown> = {};
  readonly limits: Item[] = [];
  readonly notes: Note[] = [];
  /** Options of plugins by name. */
  readonly options = new Map<string, Record<string, unknown>>();
  /** Variables that replace secrets of the other file: the name, and the place of the secret. */
  readonly secrets = new Map<string, Spot>();
  /** Variables from which LiteLLM has a key where the file names none. */
  readonly implied = new Set<string>();
  redis: string | null = null;
  /** Whether the catalogue is included. */
  includes = false;
  readonly source: Foreign;
  readonly #byLiteral = new Map<string, string>();
  readonly #taken: Set<string>;

  /** @param taken names of variables that the other file uses itself */
  constructor(source: Foreign, taken: Iterable<string>) {
    this.source = source;
    this.#taken = new Set(taken);
  }

  note(path: Path, todo: string, what = nameOf(path)): void {
    const { file, line } = this.source.spotOf(path);
    this.notes.push({ line, what: file === this.source.name ? what : `${file}: ${what}`, todo });
  }

  /** `line 3`, `lines 3, 7`, `line 3, line 1 of more.yaml` */
  where(...paths: readonly Path[]): string {
    const files = Map.groupBy(
      paths.map((path) => this.source.spotOf(path)),
      ({ file }) => file,
    );
    const placeIn = ([file, spots]: readonly [string, readonly Spot[]]): string => {
      const lines = `${spots.length === 1 ? 'line' : 'lines'} ${spots.map(({ line }) => line).join(', ')}`;
      return file === this.source.name ? lines : `${lines} of ${file}`;
    };
    return Array.from(files, placeIn).join(', ');
  }

  /** Replaces a secret of the other file by a variable. The same secret always gets the same variable. */
  secret(literal: string, name: string, path: Path): string {
    const known = this.#byLiteral.get(literal);
    if (known !== undefined) return reference(known);
    let free = name;
    for (let count = 2; this.#taken.has(free); count += 1) free = `${name}_${count}`;
    this.#taken.add(free);
    this.#byLiteral.set(literal, free);
    this.secrets.set(free, this.source.spotOf(path));
    return reference(free);
  }

  policy(id: string): Record<string, unknown> {
    const policy = this.policies.get(id) ?? {};
    this.policies.set(id, policy);
    return policy;
  }

  plugin(name: string, options: Readonly<Record<string, unknown>>): void {
    this.options.set(name, { ...this.options.get(name), ...options });
  }
}

export const reference = (name: string): string => `\${${name}}`;

/** A text without references: each dollar is doubled. */
export const literal = (text: string): string => text.replaceAll('$', '$$$$');

/** `model_list[2].litellm_params.temperature` */
export const nameOf = (path: Path): string =>
  path.map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${step}`)).join('');

/** The name of a variable for something of this name: `azure-eu` is `AZURE_EU`. */
export const variableOf = (name: string): string =>
  name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
