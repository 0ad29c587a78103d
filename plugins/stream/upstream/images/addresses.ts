/** Which addresses the gateway fetches for a caller, and how it resolves their names. */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { withoutBrackets } from '../../../../core/wire/address.ts';

/** How images are reached. */
export interface Reach {
  /** Whether the gateway may connect to an IP address. */
  readonly isAllowed: (address: string) => boolean;
  /** The IP addresses of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Milliseconds for one image, with all redirects. */
  readonly longestMs: number;
}

/**
 * Whether an IP address is one of the public internet, by the registries of special addresses of IANA.
 * safety: a caller names the address, and the gateway can reach what callers cannot: servers behind a firewall, a cloud's metadata server.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  // an IPv4 address in IPv6 notation is judged as IPv4
  const plain = ipaddr.process(address);
  if (plain.range() !== 'unicast') return false;
  // IANA gives out no other addresses of IPv6 than those of 2000::/3
  return plain.kind() === 'ipv4' || ((plain as ipaddr.IPv6).parts[0] ?? 0) >> 13 === 1;
}

/**
 * The IP addresses of a name, by DNS alone.
 * cost: the usual look-up of Node takes one of the four threads of the process for as long as it lasts: a name whose server does not
 * answer would hold up the look-ups of providers and the writes of the log.
 */
async function resolve(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

export const publicInternet: Reach = { isAllowed: isPublic, resolve, longestMs: 10_000 };

/** An address that must not be fetched, or cannot be resolved. The message completes "… could not be fetched:". */
export class Unreached extends Error {
  readonly isForbidden: boolean;

  constructor(message: string, isForbidden: boolean) {
    super(message);
    this.isForbidden = isForbidden;
  }
}

const forbidden = (): Unreached => new Unreached('its address is not one of the public internet', true);

/** Throws for a URL with an IP address that must not be fetched, because no look-up would check it. */
export function checkLiteral(host: string, { isAllowed }: Reach): void {
  const bare = withoutBrackets(host);
  if (isIP(bare) !== 0 && !isAllowed(bare)) throw forbidden();
}

/**
 * The look-up of one connection.
 * safety: the socket connects to exactly this address, so a name that has
 * a public address first and a private one later does not get through.
 */
export const lookupBy =
  (reach: Reach): LookupFunction =>
  (name, { all }, callback) =>
    look(name, reach, (error, found) => {
      if (error !== null) callback(error, '');
      else if (all === true) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });

const look = callbackify(async (name: string, { isAllowed, resolve: addressesOf }: Reach) => {
  const found = await addressesOf(name);
  if (found.length === 0) throw new Unreached('the name of its host is not known', false);
  const allowed = found.filter(isAllowed);
  if (allowed.length === 0) throw forbidden();
  return allowed.map((address) => ({ address, family: isIP(address) }));
});
