/** A measure over time that is a level and not a count, such as a latency. */

/**
 * The values of a measure that is not a count. A point without requests has no latency, and not a latency of 0: it gets the last value.
 * @param {any[]} points @param {(point: any) => number | null} read
 */
export function levelsOf(points, read) {
  let last = 0;
  return points.map((point) => (last = (point === null ? null : read(point)) ?? last));
}
