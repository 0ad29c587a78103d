/** How many values a property test tries: a few in `npm test`, where all tests together have four minutes, and as many as `FUZZ` says in `npm run fuzz`. */
export const runs = (few: number): { numRuns: number } => ({ numRuns: Number(process.env['FUZZ'] ?? few) });
