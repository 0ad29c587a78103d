/**
 * Runs around every test file. Property tests try the same values on every machine, so that a change is not blamed for an old fault;
 * `npm run fuzz` tries many others. Servers that the tests of the file left open are closed, whether the tests passed or not.
 */
import * as fc from 'fast-check';
import { afterAll } from 'vitest';
import { closeAll } from './left-open.ts';

const runs = process.env['FUZZ'];

fc.configureGlobal(runs === undefined ? { seed: 2026 } : { numRuns: Number(runs) });

afterAll(closeAll);
