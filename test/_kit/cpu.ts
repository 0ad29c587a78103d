/**
 * Milliseconds of CPU that the work takes on this thread. A machine that is busy or stands still takes longer, and no more of these:
 * work that grows with the square of what it gets is seen by them and not by a clock.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
