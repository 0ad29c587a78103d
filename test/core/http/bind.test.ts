/** An address at which the gateway cannot listen: the error. */
import dns from 'node:dns';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import { expect, it, vi } from 'vitest';
import { bindPort, PortInUse, UnusableSocket } from '../../../core/http/bind.ts';

const refusal = async (host: string, port: number, more: object = {}): Promise<Error> =>
  await bindPort({}, { host, port, ...more }).then(
    () => expect.fail('it listens'),
    (thrown: unknown) => thrown as Error,
  );

it.each([
  ['the next port', 0, 1],
  ['the port before the last one', 65_535, -1],
])('an address that is in use is refused with %s', async (_, wanted, step) => {
  const other = createServer();
  await new Promise((resolve) => other.listen(wanted, '127.0.0.1', () => resolve(null)));
  const { port } = other.address() as AddressInfo;
  const error = await refusal('127.0.0.1', port);
  other.close();
  expect([error instanceof PortInUse, error.message]).toEqual([
    true,
    `Port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another: --port ${port + step}`,
  ]);
});

it('an address of another machine is refused', async () => {
  // an address of the network for documentation
  const error = await refusal('192.0.2.1', 4000);
  expect([error instanceof UnusableSocket, error.message]).toEqual([
    true,
    expect.stringMatching(/^This machine has no address 192\.0\.2\.1, .* Write one that it has/),
  ]);
});

it.each(['ENOTFOUND', 'EAI_AGAIN'])('a name without an address is refused, where the look-up ends with %s', async (code) => {
  const answer = (...[, , tell]: unknown[]): void => (tell as (error: Error) => void)(Object.assign(new Error(code), { code }));
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(answer);
  const error = await refusal('gateway.internal', 4000);
  lookup.mockRestore();
  expect([error instanceof UnusableSocket, error.message]).toEqual([
    true,
    expect.stringMatching(/^No address is known for the name gateway\.internal, .* Write an address/),
  ]);
});

const [loopback] = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
  addresses.some(({ address }) => address === '::1') ? [name] : [],
);

it.skipIf(loopback === undefined)('an address with the name of an interface is used as it is', async () => {
  const free = createServer();
  await new Promise((resolve) => free.listen(0, '::1', () => resolve(null)));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const { server, address } = await bindPort({}, { host: `::1%${loopback ?? ''}`, port });
  server.close();
  expect(address).toBe('::1');
});

it.skipIf(loopback === undefined)('an address that needs the name of an interface is refused without one', async () => {
  const error = await refusal('fe80::1', 4000);
  expect([error instanceof UnusableSocket, error.message]).toEqual([true, expect.stringContaining('fe80::1%eth0')]);
});
