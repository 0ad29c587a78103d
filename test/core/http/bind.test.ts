/** A place that the gateway cannot listen at: what it says. */
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { bindPort, PortInUse, UnusableSocket } from '../../../core/http/bind.ts';

const refusal = async (host: string, port: number, more: object = {}): Promise<Error> => await bindPort({}, { host, port, ...more }).then(() => expect.fail('it listens'), (thrown: unknown) => thrown as Error);

it('that somebody else has', async () => {
  const other = createServer();
  await new Promise((resolve) => other.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = other.address() as AddressInfo;
  const error = await refusal('127.0.0.1', port);
  other.close();
  expect([error instanceof PortInUse, error.message]).toEqual([true, `Port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another: --port ${port + 1}`]);
});

it('of another machine', async () => {
  // of the network for documentation
  const error = await refusal('192.0.2.1', 4000);
  expect([error instanceof UnusableSocket, error.message]).toEqual([true, expect.stringMatching(/^This machine has no address 192\.0\.2\.1, .* Write one that it has/)]);
});

const [loopback] = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) => (addresses.some(({ address }) => address === '::1') ? [name] : []));

it.skipIf(loopback === undefined)('with the name of an interface is taken as it is, and no other address in its place', async () => {
  const free = createServer();
  await new Promise((resolve) => free.listen(0, '::1', () => resolve(null)));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const { server, address } = await bindPort({}, { host: `::1%${loopback ?? ''}`, port });
  server.close();
  expect(address).toBe('::1');
});
