/**
 * Watches the files of a config and swaps in a good change with nothing dropped: the new gateway is built and booted first,
 * then one pointer moves, and the old one closes when its last request has ended. A bad change is reported, and the last good
 * config serves on.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server } from '../config.ts';
import type { RunningGateway } from './gateway.ts';
import { tellReload } from './last-reload.ts';
import type { Logger } from '../logger.ts';

export type Rebuilt = { readonly gateway: RunningGateway; readonly files: readonly string[] } | { readonly problems: string; readonly files: readonly string[] };

export interface Watching {
  readonly logger: Logger;
  readonly files: readonly string[];
  /** Where the port was opened, which only a restart changes. */
  readonly bound: Pick<Server, 'host' | 'port'>;
  /** Reads the config anew and, when it is good, starts a gateway of it. */
  rebuild(): Promise<Rebuilt>;
  /** Puts the new gateway in the place of the old one. */
  swap(next: RunningGateway): RunningGateway;
  readonly everyMs?: number;
  /** Epoch milliseconds of the moment before the files were read: what has changed since then has not been seen yet. */
  readonly readAt?: number;
}

/**
 * cost: a look at the content every second finds changes on bind mounts and symlink swaps, where file events do not come.
 * Returns a way to look at once (SIGHUP), a way to stop, and the former gateways that still have requests to end.
 */
export function watchConfig({ logger, files: first, bound, rebuild, swap, everyMs = 1000, readAt = Infinity }: Watching): { look(): Promise<void>; stop(): void; readonly retiring: ReadonlySet<RunningGateway> } {
  const retiring = new Set<RunningGateway>();
  let files = first;
  let known: string | null = null;
  let candidate: string | null = null;
  let busy: Promise<void> = Promise.resolve();
  let isStopped = false;

  const look = async (): Promise<void> => {
    const seen = await fingerprint(files);
    known ??= (await changedSince(files, readAt)) ? '' : seen;
    // a file may be half written: a change counts when two looks in a row see the same
    const isStable = seen === candidate;
    candidate = seen;
    if (seen === known || !isStable) return;
    known = seen;
    const next = await rebuild();
    if (isStopped) return 'gateway' in next ? await next.gateway.close() : undefined;
    files = next.files.length === 0 ? files : next.files;
    known = await fingerprint(files);
    candidate = known;
    tellReload({ at: Date.now(), problems: 'problems' in next ? next.problems : null });
    if ('problems' in next) {
      logger.error('the changed config is not used; the last good one serves on', { problems: next.problems });
      return;
    }
    const old = swap(next.gateway);
    logger.info('config reloaded', { hash: next.gateway.config.hash });
    const settings = waiting(bound, next.gateway.config.server);
    if (settings.length > 0) logger.warn('these settings of the reloaded config wait for a restart', { settings });
    retiring.add(old);
    void retire(old, logger).finally(() => retiring.delete(old));
  };
  const queued = (): Promise<void> => (busy = busy.then(look).catch((error: unknown) => logger.error('the config could not be reloaded', { error })));
  void queued();
  const timer = setInterval(() => void queued(), everyMs);
  return {
    async look() {
      await queued();
      await queued();
    },
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
    retiring,
  };
}

const waiting = (bound: Watching['bound'], next: Server): string[] => (['host', 'port'] as const).filter((name) => next[name] !== bound[name]).map((name) => `server.${name}: ${bound[name]} → ${next[name]}`);

async function fingerprint(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(await readFile(file).catch(() => 'missing'));
  return hash.digest('hex');
}

async function changedSince(files: readonly string[], time: number): Promise<boolean> {
  const times = await Promise.all(files.map((file) => stat(file).then(({ mtimeMs }) => mtimeMs, () => 0)));
  return times.some((changedAt) => changedAt > time);
}

async function retire(old: RunningGateway, logger: Logger): Promise<void> {
  old.drain();
  while (old.running.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await old.close().catch((error: unknown) => logger.error('the former gateway failed to close', { error }));
}
