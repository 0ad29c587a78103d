/** A config of a reload is checked against the address at which the gateway listens. */
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { headline } from '../../config/problems.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const model = 'providers: { mock: {} }\nmodels: [{ id: a, free: true, providers: [{ providerId: mock }] }]\n';
const keys = 'keys: [{ name: web, key: a-callers-key-0123456789 }]\n';

async function problemsOf(yaml: string, bound: string): Promise<string[]> {
  const file = `${folderOf({ 'gateway.config.yaml': yaml })}/gateway.config.yaml`;
  const loaded = await loadConfig(file, { ...options({}), bound: { address: bound, workers: 1 } });
  return loaded.ok ? [] : loaded.problems.map((problem) => headline(problem).replace(`${file}:`, ''));
}

const refusal = (place: string, bound: string): string =>
  `${place} server.host: the running gateway listens on ${bound} until it is restarted, where other machines can reach it, and there are no keys, keep \`keys\`, or restart the gateway with this file`;

test.each(['0.0.0.0', '::', '192.168.1.5'])('a config without keys is refused while %s is open, whatever its host', async (bound) => {
  expect(await problemsOf(`server: { host: 127.0.0.1 }\n${model}`, bound)).toEqual([refusal('1:17', bound)]);
  expect(await problemsOf(model, bound)).toEqual([refusal('1:1', bound)]);
});

test.each(['0.0.0.0', '::'])('a config with keys is accepted while %s is open', async (bound) => {
  expect(await problemsOf(`server: { host: 127.0.0.1 }\n${keys}${model}`, bound)).toEqual([]);
});

test.each([
  [1, 4, 100],
  [4, 1, 25],
  [2, 2, 50],
])('%i processes that serve share the limits, while the config says %i', async (workers, written, share) => {
  const file = `${folderOf({ 'gateway.config.yaml': `server: { workers: ${written}, limits: { in_flight_bytes: 100000000, in_flight_requests: 100 } }\n${model}` })}/gateway.config.yaml`;
  const loaded = await loadConfig(file, { ...options({}), bound: { address: '127.0.0.1', workers } });
  expect(loaded).toMatchObject({
    config: { server: { workers: written, limits: { inFlightBytes: share * 1_000_000, inFlightRequests: share } } },
  });
});

test.each(['127.0.0.1', '::1', '127.0.0.2'])('a config without keys is accepted while %s is open', async (bound) => {
  expect(await problemsOf(model, bound)).toEqual([]);
});
