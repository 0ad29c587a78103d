/**
 * Watches the files of a config and takes over a good change without dropping a request: the new gateway is built and booted
 * first, then it takes the place of the old one, and the old one closes when its last request has ended. A bad change is
 * reported, and the last good config keeps serving.
 */
import { createHash } from 'node:crypto';
import { glob, readFile, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config, Server } from '../config.ts';
import type { RunningGateway } from './gateway.ts';
import { tellReload } from './reloads/history.ts';
import type { Logger } from '../logger.ts';

/** What a reload replaces: a gateway, or those of all workers together. */
export type Replaced = Pick<RunningGateway, 'config' | 'drain' | 'close'> & { readonly running: { readonly size: number } };

export type Rebuilt<Gateway extends Replaced = RunningGateway> =
  | { readonly gateway: Gateway; readonly files: readonly string[] }
  | { readonly problems: string; readonly files: readonly string[] };

interface Watching<Gateway extends Replaced = RunningGateway> {
  readonly logger: Logger;
  /** Absolute paths, and globs. Each file that matches a glob is in this list too. */
  readonly files: readonly string[];
  /** The host and port that are open, whether with TLS, and the number of processes that serve there. Only a restart can change them. */
  readonly bound: Fixed;
  /** Reads the config again and, when it is good, starts a gateway with it. */
  rebuild(): Promise<Rebuilt<Gateway>>;
  /** Puts the new gateway in the place of the old one, and returns the old one. */
  swap(next: Gateway): Gateway;
  readonly everyMs?: number;
  /** Epoch milliseconds just before the files were first read: a file that changed later holds something that was not read. */
  readonly readAt?: number;
}

type Fixed = Pick<Server, 'host' | 'port' | 'workers'> & Partial<Pick<Server, 'tls' | 'limits'>>;

/**
 * How long the `boot` of all plugins together may take where a config is reloaded: as long as a plugin's file may take to load.
 * safety: the next reload begins when this one has ended, and the parent of workers waits one minute for each of them.
 */
export const reloadBootMs = 30_000;

/** No file has this fingerprint. While it is the known one, the files are read as a config as soon as two looks see the same. */
const unread = '';

/** cost: reading the files every second finds changes on bind mounts and swapped symlinks too, for which file events do not come. */
export class ConfigWatch<Gateway extends Replaced = RunningGateway> {
  /** Former gateways that still serve requests. */
  readonly retiring = new Set<Gateway>();
  readonly #parts: Watching<Gateway>;
  readonly #timer: NodeJS.Timeout;
  #files: readonly string[];
  /** Fingerprint of the files that were last read as a config, used or refused; null: before the first look. */
  #known: string | null = null;
  /** Fingerprint at the last look. */
  #seen: string | null = null;
  /** The last config was refused. */
  #isRefused = false;
  #isStopped = false;
  /** All looks so far: each look begins when the look before it has ended. */
  #looks: Promise<void> = Promise.resolve();
  /** How many of the looks are not finished. */
  #pending = 0;

  constructor(parts: Watching<Gateway>) {
    this.#parts = parts;
    this.#files = parts.files;
    void this.look();
    // safety: looks that queue up behind a long build would run without a pause, and could see a half-written file twice
    this.#timer = setInterval(() => void (this.#pending === 0 && this.look()), parts.everyMs ?? 1000);
  }

  /** Reads the files once. A change is taken over when two looks in a row read the same. */
  look(): Promise<void> {
    this.#pending++;
    this.#looks = this.#looks
      .then(() => this.#look())
      .catch((error: unknown) => this.#parts.logger.error('the config could not be reloaded', { error }))
      .finally(() => void this.#pending--);
    return this.#looks;
  }

  /**
   * Two looks without a pause, for SIGHUP: the sender knows that the files are complete. A refused
   * config is read again even if it has not changed: what it needed, such as a folder, may exist now.
   */
  async readNow(): Promise<void> {
    await this.#looks;
    if (this.#isRefused) this.#known = unread;
    await this.look();
    await this.look();
  }

  /** Treats the files as changed: the next looks read them as a config. */
  again(): void {
    this.#looks = this.#looks.then(() => void (this.#known = unread));
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const seen = await fingerprint(this.#files);
    if (seen === null) return;
    this.#known ??= (await changedSince(this.#files, this.#parts.readAt ?? Infinity)) ? unread : seen;
    // safety: an editor may have written half of a file, and half of a YAML file can be valid
    const isStable = seen === this.#seen;
    this.#seen = seen;
    if (seen === this.#known || !isStable) return;
    this.#known = seen;
    const next = await this.#parts.rebuild();
    await this.#follow(next.files, seen);
    // a process that is stopping waits only for the gateways that existed when it began to stop
    if (this.#isStopped) return 'gateway' in next ? await next.gateway.close() : undefined;
    this.#isRefused = 'problems' in next;
    if ('problems' in next) this.#refuse(next.problems);
    else this.#use(next.gateway);
  }

  /**
   * From now on these files are watched.
   * safety: the former files may have changed again while the gateway was built, and the gateway was built without that change.
   */
  async #follow(files: readonly string[], built: string): Promise<void> {
    const former = this.#files;
    this.#files = files.length === 0 ? former : files;
    const now = await fingerprint(this.#files);
    this.#known = (await fingerprint(former)) === built ? now : unread;
    this.#seen = this.#known;
  }

  #refuse(problems: string): void {
    tellReload({ at: Date.now(), problems });
    this.#parts.logger.error('the changed config is not used; the last good one stays in use', { problems });
  }

  #use(next: Gateway): void {
    const { bound, logger, swap } = this.#parts;
    const old = swap(next);
    tellReload({ at: Date.now(), problems: null }, { before: old.config, after: next.config });
    logger.info('config reloaded', { hash: next.config.hash });
    reportOff(next.config, logger, old.config);
    const settings = waiting(bound, next.config.server);
    if (settings.length > 0) logger.warn('these settings of the reloaded config wait for a restart', { settings });
    this.retiring.add(old);
    void retire(old, logger).finally(() => this.retiring.delete(old));
  }
}

/**
 * Writes the providers that are off to the process log. One that was on until now is a warning, because its requests fail from now on.
 * @param before the config that was in use until now: a provider that was off for the same reason is not reported again
 */
export function reportOff({ providers }: Config, logger: Logger, before: Config | null = null): void {
  for (const { id, missing } of providers.values()) {
    const was = before?.providers.get(id)?.missing;
    if (missing === null || was === missing) continue;
    logger[was === null ? 'warn' : 'info'](`provider off: ${missing} is not set`, { provider: id });
  }
}

function waiting(bound: Fixed, next: Server): string[] {
  const isTls = (bound.tls ?? null) !== null;
  const shown = ({ host, port, workers, tls = null, limits }: Fixed): [string, string | number | undefined][] => [
    ['host', host],
    ['port', port],
    ['workers', workers],
    ['tls', tls === null ? 'off' : 'on'],
    ['limits.header_time_ms (of TLS handshakes)', isTls ? limits?.headerTimeMs : undefined],
  ];
  const after = new Map(shown(next));
  return shown(bound)
    .filter(([name, value]) => after.get(name) !== value)
    .map(([name, value]) => `server.${name}: ${value} → ${after.get(name)}`);
}

/** The fingerprint; null: it cannot be computed now, because the process has no free file descriptor. */
async function fingerprint(files: readonly string[]): Promise<string | null> {
  const hash = createHash('sha256');
  for (const file of files) {
    const read = await readFile(file).catch(({ code }: NodeJS.ErrnoException) =>
      code === 'EMFILE' || code === 'ENFILE' ? null : namesBy(file),
    );
    if (read === null) return null;
    hash.update(file).update(read);
  }
  return hash.digest('hex');
}

/** For a path that is not a file: the names that match it as a glob. */
async function namesBy(pattern: string): Promise<string> {
  const names: string[] = [];
  if (/[*?[{]/.test(pattern)) for await (const name of glob(pattern)) names.push(name);
  return names.length === 0 ? 'missing' : names.toSorted().join('\n');
}

async function changedSince(files: readonly string[], time: number): Promise<boolean> {
  const times = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return times.some((changedAt) => changedAt > time);
}

/** Ends a former gateway when its last request has ended. */
export async function retire(old: Replaced, logger: Logger): Promise<void> {
  old.drain();
  while (old.running.size > 0) await wait(50);
  await old.close().catch((error: unknown) => logger.error('the gateway of the previous config failed to close', { error }));
}
