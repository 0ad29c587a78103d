import type { Redis } from 'ioredis';
import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Shared } from './memory.ts';

/** A memory in Redis. Where Redis is down, the gateway still serves requests. */
export interface RedisMemory extends Shared {
  /** Begins to connect; it does not wait for the connection. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** The fields for the health report: `status` is the report's own, or `degraded` where that was `ok` and Redis does not answer. */
  health(status: HealthReport['status']): Promise<Pick<HealthReport, 'status' | 'redis'>>;
}

const prefix = 'model-gateway:thought:';

/** After so many failures in a row Redis is left alone for a while: each command that it does not answer costs its request 50 ms. */
const mostFailures = 3;
const restMs = 5000;

/** Makes the memory for a Redis URL; `open` loads the library and connects. The first failure goes to `logger`, and that Redis answers again. */
export function connectRedis(url: string, { ttlSeconds, logger }: { ttlSeconds: number; logger: Logger }): RedisMemory {
  let client: Redis | null = null;
  let isDown = false;
  let failures = 0;
  let restsUntil = 0;
  const failed = (error: Error): void => {
    if (++failures >= mostFailures) restsUntil = performance.now() + restMs;
    if (!isDown) logger.warn('Redis does not answer; this gateway keeps reasoning state in its own memory only', { error });
    isDown = true;
  };
  const answered = (): void => {
    if (isDown) logger.info('Redis answers again');
    isDown = false;
    failures = 0;
    restsUntil = 0;
  };
  const awake = (): Redis | null => (performance.now() < restsUntil ? null : client);
  return {
    async open() {
      const { Redis: Client } = await import('ioredis');
      // a Redis that is down or slow must not delay requests: no queue, no retries, at most 50 ms for a command
      client = new Client(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 50, connectTimeout: 500, retryStrategy: (times) => Math.min(times * 100, 5000) });
      client.on('error', failed);
      client.on('ready', answered);
    },
    async close() {
      client?.disconnect();
    },
    keep(key, text) {
      awake()?.set(prefix + key, text, 'EX', ttlSeconds).then(answered, failed);
    },
    async recall(key) {
      try {
        const redis = awake();
        if (redis === null) return undefined;
        const text = await redis.get(prefix + key);
        answered();
        return text ?? undefined;
      } catch (error) {
        failed(error as Error);
        return undefined;
      }
    },
    async health(status) {
      try {
        await client?.ping();
        return { status, redis: { connected: true } };
      } catch (error) {
        const reason = /timed out/i.test(String(error)) ? 'timeout' : 'refused';
        return { status: status === 'ok' ? 'degraded' : status, redis: { connected: false, error: reason } };
      }
    },
  };
}
