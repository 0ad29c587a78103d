import { createRequire } from 'node:module';
import type * as parser from 'yaml';

const load = createRequire(import.meta.url);

/**
 * The YAML parser.
 * cost: loading its 72 files takes 35 ms, and a config that the quick reader can read needs it only for the place of a fault
 */
export const yaml = (): typeof parser => load('yaml') as typeof parser;
