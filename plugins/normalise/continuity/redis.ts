import type { Redis } from 'ioredis';
import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Shared } from './memory.ts';

export interface RedisMemory extends Shared {
  open(): Promise<void>;
  close(): Promise<void>;
  /** What the health report says of it; without it the gateway serves on. */
  health(status: HealthReport['status']): Promise<Pick<HealthReport, 'status' | 'redis'>>;
}

const prefix = 'model-gateway:thought:';

/** The library is loaded when Redis is configured, and only then. */
export function connectRedis(url: string, { ttlSeconds, logger }: { ttlSeconds: number; logger: Logger }): RedisMemory {
  let client: Redis | null = null;
  let isDown = false;
  const failed = (error: Error): void => {
    if (!isDown) logger.warn('Redis does not answer; reasoning state is remembered by this gateway alone', { error });
    isDown = true;
  };
  return {
    async open() {
      const { Redis: Client } = await import('ioredis');
      // a Redis that is down or slow must not hold up a request: nothing queues, nothing is repeated, 50 ms and no more
      client = new Client(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 50, connectTimeout: 500, retryStrategy: (times) => Math.min(times * 100, 5000) });
      client.on('error', failed);
      client.on('ready', () => void (isDown = false));
    },
    async close() {
      client?.disconnect();
    },
    keep(key, text) {
      client?.set(prefix + key, text, 'EX', ttlSeconds).catch(failed);
    },
    async recall(key) {
      try {
        return (await client?.get(prefix + key)) ?? undefined;
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
