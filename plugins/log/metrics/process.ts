/** How the process is, read at the scrape, under the names that dashboards for Node expect. */
import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { version } from '../../../core/version.ts';
import { single } from './families.ts';

/** Milliseconds between two looks at the event loop. */
const resolution = 20;

export class ProcessMeters {
  #delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

  open(): void {
    this.#delay ??= monitorEventLoopDelay({ resolution });
    this.#delay.enable();
  }

  close(): void {
    this.#delay?.disable();
  }

  async text(): Promise<string> {
    const { user, system } = process.cpuUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const files = await readdir('/proc/self/fd').catch(() => null);
    const parts = [
      single('counter', { name: 'process_cpu_user_seconds_total', help: 'User CPU time spent, in seconds.' }, user / 1e6),
      single('counter', { name: 'process_cpu_system_seconds_total', help: 'System CPU time spent, in seconds.' }, system / 1e6),
      single('counter', { name: 'process_cpu_seconds_total', help: 'User and system CPU time spent, in seconds.' }, (user + system) / 1e6),
      single('gauge', { name: 'process_start_time_seconds', help: 'Start of the process, in seconds since 1970.' }, performance.timeOrigin / 1000),
      single('gauge', { name: 'process_resident_memory_bytes', help: 'Resident memory in bytes.' }, rss),
      single('gauge', { name: 'nodejs_heap_size_total_bytes', help: 'Heap of V8 in bytes.' }, heapTotal),
      single('gauge', { name: 'nodejs_heap_size_used_bytes', help: 'Used heap of V8 in bytes.' }, heapUsed),
      single('gauge', { name: 'nodejs_external_memory_bytes', help: 'Memory of buffers, outside of the heap, in bytes.' }, external),
      files === null ? '' : single('gauge', { name: 'process_open_fds', help: 'Open file descriptors.' }, files.length),
      this.#lag(),
      single('gauge', { name: 'gateway_build_info', help: 'The version that runs; always 1.', labels: { version, node: process.version } }, 1),
    ];
    return parts.join('');
  }

  /** Since the scrape before: a peak shows once, and then is over. */
  #lag(): string {
    const delay = this.#delay;
    if (delay === null) return '';
    const seconds = (nanoseconds: number): number => (delay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - resolution) / 1000);
    const gauge = (which: string, nanoseconds: number): string =>
      single('gauge', { name: `nodejs_eventloop_lag_${which}_seconds`, help: `Lag of the event loop since the last scrape (${which}), in seconds.` }, seconds(nanoseconds));
    const text = gauge('mean', delay.mean) + gauge('p50', delay.percentile(50)) + gauge('p99', delay.percentile(99)) + gauge('max', delay.max);
    delay.reset();
    return text;
  }
}
