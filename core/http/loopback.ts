/** Whether only this machine is meant by a host name or address. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare) || bare.startsWith('::ffff:127.');
}

/** The name of a `Host` header, without its port and in small letters. */
export const hostName = (header: string): string => header.replace(/:\d*$/, '').toLowerCase();
