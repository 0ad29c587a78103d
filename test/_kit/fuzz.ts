import * as fc from 'fast-check';

/**
 * How many values a property test tries: a few in `npm test`, where all tests together have four minutes, and as many as `FUZZ` says in
 * `npm run fuzz`. `each`: how many requests one value has.
 */
export const runs = (few: number, each = 1): { numRuns: number } => ({
  numRuns: Math.ceil(Number(process.env['FUZZ'] ?? few * each) / each),
});

/** No half of a surrogate pair. */
const codePoint = fc.oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff })).map((code) => String.fromCodePoint(code));

/**
 * Any well-formed text.
 * cost: fast-check's own `unit: 'binary'` makes a map of all code points, which takes a second and 80 MB of each worker
 */
export const anyText = (length: fc.StringSharedConstraints = {}): fc.Arbitrary<string> => fc.string({ ...length, unit: codePoint });
