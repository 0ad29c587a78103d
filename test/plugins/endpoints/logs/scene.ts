/** A gateway with the log API and a log in memory. */
import { keeping, memoryLog } from '../../../_kit/log.ts';
import type { MemoryLog } from '../../../_kit/log.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';

export const noon = Date.parse('2026-03-01T12:00:00Z');

export interface Scene extends TestGateway {
  readonly log: MemoryLog;
  read(path: string, headers?: Record<string, string>): Promise<{ status: number; body: any }>;
}

/** @param server the `server` block of the config @param keys the keys of callers */
export async function logScene(
  server: object = { admin_open: true },
  keys: readonly object[] = [{ name: 'caller', key: 'a-caller-key' }],
  clock = () => noon,
): Promise<Scene> {
  const log = memoryLog();
  const config = oneUpstream('http://127.0.0.1:9/v1', {
    server,
    keys,
    plugins: ['endpoints/health', 'endpoints/logs', 'auth/keys', 'dialects/openai-chat'],
  });
  const gateway = await testGateway({ config, plugins: [keeping(log)], clock });
  return {
    ...gateway,
    log,
    async read(path, headers) {
      const response = await gateway.get(path, headers);
      return { status: response.status, body: await response.json() };
    },
  };
}

export const at = (minutesBefore: number): string => new Date(noon - minutesBefore * 60_000).toISOString();
