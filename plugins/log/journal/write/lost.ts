/** Counts of what the log lost, and of what was written. */

/** Counts of what was lost. They only rise: a process keeps them over its reloads. */
export interface Lost {
  /** Records that were dropped because there was no room. */
  dropped: number;
  /** Records that were written without their bodies because there was no room. */
  bodiesDropped: number;
  /** Records that the store refused. */
  deadLettered: number;
}

export const nothingLost = (): Lost => ({ dropped: 0, bodiesDropped: 0, deadLettered: 0 });

export interface Counts extends Readonly<Lost> {
  /** Records that are written or wait in memory. */
  readonly written: number;
}
