/**
 * The Redis of the process. Every feature that shares something between gateways uses this one client, and it
 * never holds up a request for long: each command has a short time limit, and a Redis that failed three times
 * in a row is left alone until it answers a ping again. A Redis that refuses a command, because it has no
 * memory left or the user may not run it, has answered: the gateway goes on using it, and tells the operator.
 */
import { hash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { timeLimit } from '../cancellation.ts';
import type { Logger } from '../logger.ts';
import type { HealthCheck } from '../pipeline/hooks.ts';
import type { Secret } from '../secret.ts';
import { clusterOf, isRefused, look, lookThrough, ping, reasonOf, Unfit } from './redis-server.ts';
import type { Reason } from './redis-server.ts';

/** What a plugin may do with Redis. Each call rejects within its time limit, and at once while Redis is away. */
export interface SharedRedis {
  /** Redis is not connected, or has failed again and again: each call rejects at once. */
  readonly isAway: boolean;
  /** Null: there is no such key. */
  get(key: string): Promise<string | null>;
  set(key: string, text: string, ttlSeconds: number): Promise<void>;
  /** Runs a Lua script: its text is sent once, and its hash from then on. */
  run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** What `GET /` says of it. */
  health(): Promise<HealthCheck>;
}

/** Time limits in milliseconds. A script decides whether a request is served, so it gets more time than what only saves work. */
const limitMs = { text: 50, script: 300, ping: 300, open: 1000 };

const mostFailures = 3;
/** How long Redis is said to refuse commands after it refused one. */
const usualRefusedForMs = 30_000;
const restMs = { min: 500, max: 5000 };

export class RedisClient implements SharedRedis {
  readonly #url: Secret;
  readonly #logger: Logger;
  #client: Client | null = null;
  #opening: Promise<void> | null = null;
  #failures = 0;
  /** What the process log says of it. A Redis that was silent may answer that it cannot be used; the log then says that too. */
  #said: 'well' | 'silent' | 'unfit' = 'well';
  /** The key of the last command. In a cluster only some nodes may be away, so the check asks the node of this key. */
  #lastKey = 'model-gateway';
  /** True: the check of this connection has found that Redis can be used. */
  #isFit = false;
  /** The last command that Redis refused, and until when it is of interest (`performance.now()`). */
  #refusal: { readonly error: Error; readonly until: number } | null = null;
  readonly #refusedForMs: number;
  /** The last error of a cluster node. A command for that node reports only that there is no connection. */
  #nodeError: Error | null = null;
  #isClosed = false;
  /** The reason that `GET /` shows while there is no connection: the last connection error, or `timeout` where no reply has come yet. */
  #reason: Reason = 'timeout';
  #restMs = restMs.min;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Scripts that were sent on this connection, with their hashes. A later call sends only the hash: if Redis
   * did not know the script, the call would be repeated, and run after calls that were sent later.
   */
  readonly #sent = new Map<string, string>();

  constructor(url: Secret, logger: Logger, refusedForMs = usualRefusedForMs) {
    this.#url = url;
    this.#logger = logger;
    this.#refusedForMs = refusedForMs;
  }

  /** Loads the library and connects. It waits for the connection for a second at most, and does not fail where there is none. */
  async open(): Promise<void> {
    await (this.#opening ??= this.#connect());
  }

  async #connect(): Promise<void> {
    const { Cluster, Redis } = await import('ioredis');
    if (this.#isClosed) return;
    const client = new Redis(this.#url.reveal(), {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      connectTimeout: limitMs.open,
      // a connection that hangs is replaced, by one to the same server or to its successor.
      // Nothing else ends a connection on which not even the first reply has come
      socketTimeout: limitMs.open,
      // this class checks each connection itself. The check of ioredis sends INFO, which a user of Redis may not be allowed to run
      enableReadyCheck: false,
      retryStrategy: (times) => Math.min(times * 100, 2000),
      // wire: after a failover the former primary takes no writes (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/)
      reconnectOnError: (error) => isRefused(error, 'READONLY'),
      connectionName: 'model-gateway',
    });
    const opened = Promise.withResolvers<void>();
    const timer = setTimeout(opened.resolve, limitMs.open);
    const settled = (): void => {
      clearTimeout(timer);
      opened.resolve();
    };
    this.#use(client, settled, () => {
      if (this.#isClosed) return;
      client.disconnect();
      this.#use(clusterOf(client, Cluster), settled, settled);
    });
    await opened.promise;
  }

  /** @param found called where the client is connected to a node of a cluster */
  #use(client: Client, settled: () => void, found: () => void): void {
    this.#client = client;
    client.on('connect', () => {
      if (this.#reason !== 'auth_failed') this.#reason = 'timeout';
    });
    client.on('error', (error: ClientError) => {
      // the connection stays open, and its check reports what is wrong with the database number
      if (error.command?.name === 'select') return;
      const cause = error.lastNodeError ?? error;
      this.#reason = reasonOf(cause);
      this.#failed(cause);
      settled();
    });
    client.on('node error', (error: Error) => {
      this.#nodeError = error;
    });
    client.on('close', () => {
      if (this.#client !== client) return;
      this.#isFit = false;
      this.#sent.clear();
    });
    client.on('ready', () => void this.#look(client).then((what) => (what === 'node' ? found() : settled())));
  }

  get isAway(): boolean {
    return this.#failures >= mostFailures || !this.#isFit || this.#client?.status !== 'ready';
  }

  async get(key: string): Promise<string | null> {
    return await this.#ask(limitMs.text, key, (client) => client.get(key));
  }

  async set(key: string, text: string, ttlSeconds: number): Promise<void> {
    await this.#ask(limitMs.text, key, (client) => client.set(key, text, 'EX', ttlSeconds));
  }

  async run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const all = [...keys, ...args];
    return await this.#ask(limitMs.script, keys[0], async (client) => {
      const known = this.#sent.get(script);
      if (known === undefined) {
        this.#sent.set(script, hash('sha1', script));
        return await client.eval(script, keys.length, ...all);
      }
      try {
        return await client.evalsha(known, keys.length, ...all);
      } catch (error) {
        // wire: a Redis that was restarted, or whose scripts were flushed, does
        // not know the hash (https://redis.io/docs/latest/commands/evalsha/)
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
        return await client.eval(script, keys.length, ...all);
      }
    });
  }

  async health(): Promise<HealthCheck> {
    const client = this.#client;
    if (client === null) return { connected: false, error: 'refused' };
    if (!this.#isFit || client.status !== 'ready') return { connected: false, error: this.#reason };
    try {
      await orLate(ping(client), limitMs.ping);
      const refusal = this.#refusal;
      return refusal !== null && performance.now() < refusal.until
        ? { connected: false, error: reasonOf(refusal.error) }
        : { connected: true };
    } catch (error) {
      if (error === late) return { connected: false, error: 'timeout' };
      // a command on a connection that has ended reports only that the connection has ended
      return { connected: false, error: isRefused(error) ? reasonOf(error as Error) : this.#reason };
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.disconnect();
  }

  async #ask<Value>(ms: number, key: string | undefined, ask: (client: Client) => Promise<Value>): Promise<Value> {
    const client = this.#client;
    if (client === null || this.isAway) throw away;
    this.#lastKey = key ?? this.#lastKey;
    try {
      const value = await orLate(ask(client), ms);
      this.#answered();
      return value;
    } catch (error) {
      // READONLY: the connection leads to a replica now and is closed.
      // CLUSTERDOWN: the cluster works again once it has chosen another primary
      if (isRefused(error) && !isRefused(error, 'READONLY') && !isRefused(error, 'CLUSTERDOWN The cluster is down')) {
        this.#refused(error as Error);
      } else this.#failed(error as Error);
      throw error;
    }
  }

  #refused(error: Error): void {
    if (this.#refusal === null) {
      this.#logger.warn('Redis refuses commands; the data of these commands is not shared with other gateways', { error });
    }
    this.#refusal = { error, until: performance.now() + this.#refusedForMs };
  }

  #answered(): void {
    if (this.#said !== 'well') this.#logger.info('Redis answers again');
    this.#said = 'well';
    if (this.#refusal !== null && performance.now() >= this.#refusal.until) {
      this.#refusal = null;
      this.#logger.info('Redis accepts commands again');
    }
    this.#failures = 0;
    this.#restMs = restMs.min;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #failed(error: Error): void {
    if (this.#isClosed) return;
    this.#failures++;
    if (!this.isAway) return;
    this.#say(error instanceof Unfit || isRefused(error) ? 'unfit' : 'silent', error);
    if (this.#failures >= mostFailures) this.#probeLater();
  }

  #say(what: 'silent' | 'unfit', error: Error): void {
    if (this.#said === 'unfit' || this.#said === what) return;
    this.#said = what;
    const how = what === 'unfit' ? 'cannot be used; until it can' : 'does not answer; until it does';
    this.#logger.warn(`Redis ${how}, nothing is shared with other gateways`, { error });
  }

  /** Checks later whether Redis can be used again, so that no request has to find out. */
  #probeLater(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#probe(), this.#restMs);
    this.#timer.unref();
    this.#restMs = Math.min(this.#restMs * 2, restMs.max);
  }

  async #probe(): Promise<void> {
    this.#timer = undefined;
    const client = this.#client;
    if (client === null || this.#isClosed || (await this.#look(client)) === 'fit') return;
    // a connection that is silent, or does not lead to the primary, is replaced; a connection that is being made reports its own errors
    if (client.status === 'ready' && !isCluster(client)) client.disconnect(true);
  }

  /** Checks whether Redis can be used. Where it cannot, checks again later. */
  async #look(client: Client): Promise<'fit' | 'unfit' | 'node'> {
    try {
      const isNode = await orLate<boolean>(isCluster(client) ? lookThrough(client, this.#lastKey) : look(client), limitMs.ping);
      if (isNode) return 'node';
      // Redis has answered, so if the connection ends now, Redis has closed it
      this.#reason = 'refused';
      this.#isFit = true;
      this.#answered();
      return 'fit';
    } catch (error) {
      this.#isFit = false;
      const cause = isUnconnected(error) ? (this.#nodeError ?? error) : error;
      this.#reason = cause === late ? 'timeout' : reasonOf(cause as Error);
      this.#failed(cause as Error);
      this.#probeLater();
      return 'unfit';
    }
  }
}

type Client = Cluster | Redis;

/**
 * The errors of ioredis: `command` belongs to a connection that is being made,
 * `lastNodeError` is set where no node of a cluster lists the cluster's nodes.
 */
type ClientError = Error & { readonly command?: { readonly name: string }; readonly lastNodeError?: Error };

/** wire: what ioredis says of each command whose connection could not be made. */
const isUnconnected = (error: unknown): boolean => (error as Error).message === 'Connection is closed.';

const isCluster = (client: Client): client is Cluster => client.isCluster;

const late = new Error('Redis did not answer in time');
const away = new Error('Redis is away');

/** The value, or a rejection with `late` after the time limit. */
function orLate<Value>(work: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const lift = timeLimit(ms, () => reject(late));
    work.then(resolve, reject).finally(lift);
  });
}
