/**
 * Numbers by their order of magnitude, as an index. It finds the few rows whose number is unusually large or small, and a new row
 * goes to the end of its bin.
 * cost: an index on the numbers themselves is written at random places, and halves the rate at which a store takes records.
 */

/** Upper bounds of the bins, by column. They are part of migrations: a change needs a new one. */
const bounds: Readonly<Record<'duration_ms' | 'cost' | 'total_tokens', readonly bigint[]>> = {
  duration_ms: [10n, 100n, 1000n, 2000n, 5000n, 10_000n, 20_000n, 30_000n, 60_000n, 120_000n, 300_000n, 600_000n],
  // from a thousandth of a cent to a hundred dollars
  cost: [
    10_000_000n,
    100_000_000n,
    1_000_000_000n,
    10_000_000_000n,
    100_000_000_000n,
    1_000_000_000_000n,
    10_000_000_000_000n,
    100_000_000_000_000n,
  ],
  total_tokens: [100n, 1000n, 2000n, 5000n, 10_000n, 20_000n, 50_000n, 100_000n, 200_000n, 500_000n],
};

export type Binned = keyof typeof bounds;

export const isBinned = (column: string | null): column is Binned => column !== null && Object.hasOwn(bounds, column);

/** The index and the query need exactly the same text, because a database uses the index for this expression only. */
export const binSql = (column: Binned): string =>
  `(case ${bounds[column].map((bound, bin) => `when ${column} < ${bound} then ${bin}`).join(' ')} else ${bounds[column].length} end)`;

/** The numbers of the bins of a column; the bin of the largest values comes first. */
export const binsOf = (column: Binned): readonly number[] =>
  Array.from({ length: bounds[column].length + 1 }, (_, bin) => bounds[column].length - bin);

export function binOf(column: Binned, value: bigint): number {
  const bin = bounds[column].findIndex((bound) => value < bound);
  return bin === -1 ? bounds[column].length : bin;
}
