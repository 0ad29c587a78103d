/** Ajv as the config uses it. */
import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import { sha256 } from '../fingerprint.ts';
import { compiled } from './compiled.js';

/** The options that decide which values are valid; `npm run generate` compiles with the same options. */
export const meaning = {
  strict: true,
  // the branches of a `discriminator` may require keys that only their parent declares, and the reverse
  strictRequired: false,
  allowUnionTypes: true,
  useDefaults: true,
  discriminator: true,
  // `format` only helps editors; patterns and resolvers check what must be true
  validateFormats: false,
} as const satisfies Options;

/** Keywords that only editors read. */
export const editorKeywords = ['markdownDescription', 'defaultSnippets', 'deprecationMessage'];

/** The key of a schema in `compiled`. A changed schema has another key. */
export const hashOf = (schema: object): string => sha256(JSON.stringify(schema)).slice(0, 16);

/** Where a value is not valid, and by which keyword of the schema. */
export type Fault = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params'>;

/** Whether a value is valid. Fills defaults in, in place. `errors` are the faults of the last value. */
export interface Accepts {
  (value: unknown): boolean;
  errors?: readonly Fault[] | null;
}

export interface Validator {
  readonly accepts: Accepts;
  /** Ajv's own validator, which names each fault of a value that is not. */
  readonly explains: () => ValidateFunction;
}

const require = createRequire(import.meta.url);
let ajv: Ajv | null = null;

function compile(schema: object): ValidateFunction {
  if (ajv === null) {
    const { Ajv: Compiler } = require('ajv') as { Ajv: typeof Ajv };
    // cost: optimising takes 50 ms of the start and saves less, because the validated values are small
    ajv = new Compiler({ ...meaning, code: { optimize: false }, allErrors: true, verbose: true });
    ajv.addVocabulary(editorKeywords);
  }
  try {
    return ajv.compile(schema);
  } catch (fault) {
    // Ajv keeps an invalid schema, and would report less about it the next time
    ajv.removeSchema(schema);
    throw fault;
  }
}

/** Throws an `Error` where the schema itself is not valid. */
export function validatorOf(schema: object): Validator {
  let full: ValidateFunction | null = null;
  const explains = (): ValidateFunction => (full ??= compile(schema));
  // cost: to load Ajv and to compile the schemas of the shipped config takes 190 ms of CPU, and these validators 8 ms
  return { accepts: compiled[hashOf(schema)] ?? explains(), explains };
}
