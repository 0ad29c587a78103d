/** Property tests try the same values on every machine, so that a change is not blamed for an old fault; `npm run fuzz` tries many others. */
import * as fc from 'fast-check';

const runs = process.env['FUZZ'];

fc.configureGlobal(runs === undefined ? { seed: 2026 } : { numRuns: Number(runs) });
