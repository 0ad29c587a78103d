/** Which addresses the gateway asks for a caller, and how it finds them. */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';

/** How images are reached. */
export interface Reach {
  /** Whether an IP address may be asked. */
  readonly isAllowed: (address: string) => boolean;
  /** The IP addresses of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Milliseconds for one image, with all redirects. */
  readonly longestMs: number;
}

/**
 * Whether an IP address is one of the public internet, by the registries of special addresses of IANA.
 * safety: a caller names the address, and the gateway stands where callers do not: behind a firewall, beside a cloud's metadata server.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  // an IPv4 address that is written as one of IPv6 is judged as what it is
  const plain = ipaddr.process(address);
  if (plain.range() !== 'unicast') return false;
  // IANA gives out no other addresses of IPv6 than those of 2000::/3
  return plain.kind() === 'ipv4' || ((plain as ipaddr.IPv6).parts[0] ?? 0) >> 13 === 1;
}

/**
 * The IP addresses of a name, by DNS alone.
 * cost: the usual look-up of Node takes a thread for as long as it lasts, and has four for the whole process: a name whose server does
 * not answer would hold up the look-ups of providers and the writes of the log.
 */
async function resolve(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

export const publicInternet: Reach = { isAllowed: isPublic, resolve, longestMs: 10_000 };

/** An address that is not asked, or that nothing is known of. The message completes "… could not be fetched:". */
export class Unreached extends Error {
  readonly isForbidden: boolean;

  constructor(message: string, isForbidden: boolean) {
    super(message);
    this.isForbidden = isForbidden;
  }
}

const forbidden = (): Unreached => new Unreached('its address is not one of the public internet', true);

/** Throws for an address of a URL that is no name and may not be asked: no look-up would be made for it. */
export function checkLiteral(host: string, { isAllowed }: Reach): void {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0 && !isAllowed(bare)) throw forbidden();
}

/**
 * The look-up of one connection.
 * safety: what it gives is what the socket connects to, so a name that has a public address first and another one later is no way in.
 */
export const lookupBy = ({ isAllowed, resolve: addressesOf }: Reach): LookupFunction => (name, { all }, callback) => {
  const look = async (): Promise<{ address: string; family: number }[]> => {
    const found = await addressesOf(name);
    const allowed = found.filter(isAllowed);
    if (allowed.length === 0) throw found.length === 0 ? new Unreached('its name is not known', false) : forbidden();
    return allowed.map((address) => ({ address, family: isIP(address) }));
  };
  const given = callbackify(look);
  given((error, found) => (error !== null ? callback(error, '') : all === true ? callback(null, found) : callback(null, found[0]?.address ?? '', found[0]?.family)));
};
