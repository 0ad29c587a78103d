/** A measure over time that is a level and not a count, such as a latency. */

/**
 * The values of a measure that is no count. Where nobody asked there is no latency, which is not a latency of 0: the last one stays.
 * @param {any[]} points @param {(point: any) => number | null} read
 */
export function levelsOf(points, read) {
  let last = 0;
  return points.map((point) => (last = (point === null ? null : read(point)) ?? last));
}
