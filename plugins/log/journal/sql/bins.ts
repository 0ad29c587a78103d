/**
 * Numbers by their order of magnitude, as an index: what is rarely large (or small) is found, and a new row goes to the end of its
 * bin. An index on the numbers themselves is written all over, and halves what a store takes in.
 */

/** Upper bounds. Part of migration 2: a change needs a new one. */
const bounds: Readonly<Record<'duration_ms' | 'cost', readonly bigint[]>> = {
  duration_ms: [10n, 100n, 1000n, 2000n, 5000n, 10_000n, 20_000n, 30_000n, 60_000n, 120_000n, 300_000n, 600_000n],
  // from a thousandth of a cent to a hundred dollars
  cost: [10_000_000n, 100_000_000n, 1_000_000_000n, 10_000_000_000n, 100_000_000_000n, 1_000_000_000_000n, 10_000_000_000_000n, 100_000_000_000_000n],
};

export type Binned = keyof typeof bounds;

/** The same text in the index and in the query: that is how one finds the other. */
export const binSql = (column: Binned): string => `(case ${bounds[column].map((bound, bin) => `when ${column} < ${bound} then ${bin}`).join(' ')} else ${bounds[column].length} end)`;

export function binOf(column: Binned, value: bigint): number {
  const bin = bounds[column].findIndex((bound) => value < bound);
  return bin === -1 ? bounds[column].length : bin;
}
