/**
 * How many values a property test tries: a few in `npm test`, where all tests together have four minutes, and as many as `FUZZ` says in
 * `npm run fuzz`. `each`: how many requests one value stands for.
 */
export const runs = (few: number, each = 1): { numRuns: number } => ({ numRuns: Math.ceil(Number(process.env['FUZZ'] ?? few * each) / each) });
