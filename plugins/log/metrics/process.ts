/** The metrics of the process (CPU, memory, files, event loop), read at the scrape, under the names that dashboards for Node use. */
import { readdir, readFile } from 'node:fs/promises';
import { createHistogram, performance } from 'node:perf_hooks';
import { version } from '../../../core/version.ts';
import { single } from './families.ts';

/** Measures the lag of the event loop between `open` and `close`, and reads the other figures when `text` is called. */
export class ProcessMeters {
  readonly #loop = new LoopLag();

  open(): void {
    this.#loop.open();
  }

  close(): void {
    this.#loop.close();
  }

  /** The text for a scrape. Figures that the system does not have are left out. */
  async text(): Promise<string> {
    const { user, system } = process.cpuUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const [files, limits, status] = await Promise.all([readdir('/proc/self/fd').catch(() => null), proc('limits'), proc('status')]);
    const mostFiles = /^Max open files +(\d+)/m.exec(limits)?.[1];
    const virtualKiB = /^VmSize:\s+(\d+) kB/m.exec(status)?.[1];
    const parts = [
      single('counter', { name: 'process_cpu_user_seconds_total', help: 'User CPU time spent, in seconds.' }, user / 1e6),
      single('counter', { name: 'process_cpu_system_seconds_total', help: 'System CPU time spent, in seconds.' }, system / 1e6),
      single('counter', { name: 'process_cpu_seconds_total', help: 'User and system CPU time spent, in seconds.' }, (user + system) / 1e6),
      single(
        'gauge',
        { name: 'process_start_time_seconds', help: 'Start of the process, in seconds since 1970.' },
        performance.timeOrigin / 1000,
      ),
      single('gauge', { name: 'process_resident_memory_bytes', help: 'Resident memory in bytes.' }, rss),
      virtualKiB === undefined
        ? ''
        : single('gauge', { name: 'process_virtual_memory_bytes', help: 'Virtual memory in bytes.' }, Number(virtualKiB) * 1024),
      single('gauge', { name: 'nodejs_heap_size_total_bytes', help: 'Heap of V8 in bytes.' }, heapTotal),
      single('gauge', { name: 'nodejs_heap_size_used_bytes', help: 'Used heap of V8 in bytes.' }, heapUsed),
      single('gauge', { name: 'nodejs_external_memory_bytes', help: 'Memory of buffers, outside of the heap, in bytes.' }, external),
      files === null ? '' : single('gauge', { name: 'process_open_fds', help: 'Open file descriptors.' }, files.length),
      mostFiles === undefined
        ? ''
        : single('gauge', { name: 'process_max_fds', help: 'File descriptors that may be open.' }, Number(mostFiles)),
      this.#loop.text(),
      single(
        'gauge',
        { name: 'gateway_build_info', help: 'The version that runs; always 1.', labels: { version, node: process.version } },
        1,
      ),
    ];
    return parts.join('');
  }
}

/** The text of a file of /proc; empty on systems without /proc, which only Linux has. */
const proc = (file: string): Promise<string> => readFile(`/proc/self/${file}`, 'utf8').catch(() => '');

/** Milliseconds between two measurements of the event loop. */
const resolution = 20;

/**
 * Measures how late the event loop is, with a timer. Node's monitorEventLoopDelay is not used, because it leaves out the interval
 * after each reset, and so the delay that the scrape itself causes.
 */
class LoopLag {
  /** In microseconds. */
  readonly #lags = createHistogram();
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;

  open(): void {
    if (this.#timer !== undefined) return;
    this.#lookedAt = performance.now();
    this.#timer = setInterval(() => this.#look(), resolution).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = performance.now();
    this.#lags.record(Math.max(1, Math.round((now - this.#lookedAt - resolution) * 1000)));
    this.#lookedAt = now;
  }

  /** The text for a scrape, about the time since the last scrape. A peak is therefore in one scrape only. */
  text(): string {
    const lags = this.#lags;
    const gauge = (which: string, microseconds: number): string =>
      single(
        'gauge',
        { name: `nodejs_eventloop_lag_${which}_seconds`, help: `Lag of the event loop since the last scrape (${which}), in seconds.` },
        lags.count === 0 ? 0 : microseconds / 1e6,
      );
    const text = gauge('mean', lags.mean) + gauge('p50', lags.percentile(50)) + gauge('p99', lags.percentile(99)) + gauge('max', lags.max);
    lags.reset();
    return text;
  }
}
