/**
 * Milliseconds of CPU time that the work takes on this thread. A machine that is busy or stands still takes longer, but no more CPU time:
 * so CPU time shows work that grows quadratically, and a clock does not.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  return msSince(before);
}

/** As `cpuMsOf`, with all that this thread does until the promise of the work is settled. */
export async function cpuMsUntil(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  return msSince(before);
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
