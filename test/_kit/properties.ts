/**
 * Runs around every test file. Property tests try the same values on every machine, so that a change is not blamed for an old fault;
 * `npm run fuzz` tries many others. What the tests opened is closed, whether they passed or not.
 */
import * as fc from 'fast-check';
import { afterAll, afterEach } from 'vitest';
import { closeAll, closeTest } from './left-open.ts';

const runs = process.env['FUZZ'];

fc.configureGlobal(runs === undefined ? { seed: 2026 } : { numRuns: Number(runs) });

afterEach(closeTest);
afterAll(closeAll);
