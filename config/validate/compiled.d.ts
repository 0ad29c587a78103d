/**
 * Validators of schemas that seldom change, compiled by `npm run generate`.
 * They say whether a value is valid, and where it is not, and fill defaults in.
 */
import type { Accepts } from './validator.ts';

export const compiled: Readonly<Record<string, Accepts | undefined>>;
