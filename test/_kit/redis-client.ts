/** Clients of a Redis: one as a gateway has it, and one that can do everything. */
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { RedisClient } from '../../core/host/redis.ts';
import { createLogger } from '../../core/logger.ts';
import { Secret } from '../../core/secret.ts';

interface Logged {
  readonly msg: string;
  readonly error?: string;
}

export interface OpenedClient {
  readonly client: RedisClient;
  /** Its lines in the process log. */
  logged(): readonly Logged[];
  messages(): readonly string[];
}

/**
 * A client of a gateway that has learned what is at the address: on a busy machine
 * its time for that, 300 ms, may be over before, and then another client tries.
 */
export async function opened(url: string): Promise<OpenedClient> {
  const lines: string[] = [];
  const client = new RedisClient(
    new Secret(url),
    createLogger((line) => void lines.push(line)),
  );
  onTestFinished(() => client[Symbol.dispose]());
  await client.open();
  if ((await client.health()).error === 'timeout') return await opened(url);
  const logged = (): Logged[] => lines.map((line) => JSON.parse(line) as Logged);
  return { client, logged, messages: () => logged().map(({ msg }) => msg) };
}

export function adminOf(url: string): Redis {
  const admin = new Redis(url);
  onTestFinished(() => admin.disconnect());
  return admin;
}
