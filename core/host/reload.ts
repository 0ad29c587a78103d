/**
 * Watches the files of a config and takes over a good change without dropping a request: the new gateway is built and booted
 * first, then it takes the place of the old one, and the old one closes when its last request has ended. A bad change is
 * reported, and the last good config keeps serving.
 */
import { createHash } from 'node:crypto';
import { glob, readFile, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Server } from '../config.ts';
import type { RunningGateway } from './gateway.ts';
import { tellReload } from './reloads/history.ts';
import type { Logger } from '../logger.ts';

/** What a reload replaces: a gateway, or those of all workers together. */
export type Replaced = Pick<RunningGateway, 'config' | 'drain' | 'close'> & { readonly running: { readonly size: number } };

export type Rebuilt<Gateway extends Replaced = RunningGateway> = { readonly gateway: Gateway; readonly files: readonly string[] } | { readonly problems: string; readonly files: readonly string[] };

interface Watching<Gateway extends Replaced = RunningGateway> {
  readonly logger: Logger;
  /** Absolute paths, and globs: what matches one of them is a file of its own in this list. */
  readonly files: readonly string[];
  /** The host and port that are open, and the number of processes that serve there. Only a restart can change them. */
  readonly bound: Fixed;
  /** Reads the config again and, when it is good, starts a gateway with it. */
  rebuild(): Promise<Rebuilt<Gateway>>;
  /** Puts the new gateway in the place of the old one, and returns the old one. */
  swap(next: Gateway): Gateway;
  readonly everyMs?: number;
  /** Epoch milliseconds just before the files were first read: a file that changed later holds something that was not read. */
  readonly readAt?: number;
}

type Fixed = Pick<Server, 'host' | 'port' | 'workers'> & { readonly tls?: Server['tls'] };

export interface Watch<Gateway extends Replaced = RunningGateway> {
  /** Reads the files once. A change is taken over when two looks in a row read the same. */
  look(): Promise<void>;
  /** Two looks without a pause, at SIGHUP: who sends it knows that the files are complete. A config that was refused is read again as it is: what it needed, such as a folder, may be there by now. */
  readNow(): Promise<void>;
  /** Takes the files for changed, as they are: the next looks read them. */
  again(): void;
  stop(): void;
  /** Former gateways that still serve requests. */
  readonly retiring: ReadonlySet<Gateway>;
}

/** cost: reading the files every second finds changes on bind mounts and swapped symlinks too, for which file events do not come. */
export function watchConfig<Gateway extends Replaced = RunningGateway>({ logger, files: first, bound, rebuild, swap, everyMs = 1000, readAt = Infinity }: Watching<Gateway>): Watch<Gateway> {
  const retiring = new Set<Gateway>();
  let files = first;
  let known: string | null = null;
  let candidate: string | null = null;
  let busy: Promise<void> = Promise.resolve();
  let isStopped = false;
  let isRefused = false;

  const look = async (): Promise<void> => {
    const seen = await fingerprint(files);
    known ??= (await changedSince(files, readAt)) ? '' : seen;
    // safety: an editor may have written half of a file, and half of a YAML file can be valid
    const isStable = seen === candidate;
    candidate = seen;
    if (seen === known || !isStable) return;
    known = seen;
    const next = await rebuild();
    const read = files;
    files = next.files.length === 0 ? files : next.files;
    const now = await fingerprint(files);
    // safety: the files may have changed again while the gateway was built, and it does not know that change
    known = (await fingerprint(read)) === seen ? now : '';
    candidate = known;
    // a process that ends waits for the gateways that it knew when it began to
    if (isStopped) return 'gateway' in next ? await next.gateway.close() : undefined;
    isRefused = 'problems' in next;
    if ('problems' in next) {
      tellReload({ at: Date.now(), problems: next.problems });
      logger.error('the changed config is not used; the last good one serves on', { problems: next.problems });
      return;
    }
    const old = swap(next.gateway);
    tellReload({ at: Date.now(), problems: null }, { before: old.config, after: next.gateway.config });
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
    look: queued,
    async readNow() {
      await busy;
      if (isRefused) known = '';
      await queued().then(queued);
    },
    again: () => void (busy = busy.then(() => void (known = ''))),
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
    retiring,
  };
}

function waiting(bound: Fixed, next: Server): string[] {
  const shown = ({ host, port, workers, tls = null }: Fixed): [string, string | number][] => [['host', host], ['port', port], ['workers', workers], ['tls', tls === null ? 'off' : 'on']];
  const after = new Map(shown(next));
  return shown(bound).filter(([name, value]) => after.get(name) !== value).map(([name, value]) => `server.${name}: ${value} → ${after.get(name)}`);
}

async function fingerprint(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(await readFile(file).catch(() => namesBy(file)));
  return hash.digest('hex');
}

/** What is known of a path that is no file: the names that match it as a glob. */
async function namesBy(pattern: string): Promise<string> {
  const names: string[] = [];
  if (/[*?[{]/.test(pattern)) for await (const name of glob(pattern)) names.push(name);
  return names.length === 0 ? 'missing' : names.toSorted().join('\n');
}

async function changedSince(files: readonly string[], time: number): Promise<boolean> {
  const times = await Promise.all(files.map((file) => stat(file).then(({ mtimeMs }) => mtimeMs, () => 0)));
  return times.some((changedAt) => changedAt > time);
}

/** Ends a former gateway when its last request has ended. */
export async function retire(old: Replaced, logger: Logger): Promise<void> {
  old.drain();
  while (old.running.size > 0) await wait(50);
  await old.close().catch((error: unknown) => logger.error('the former gateway failed to close', { error }));
}
