/** Checks the server at the address of the Redis: whether gateways can share it, and the reason where they cannot. */
import type { Cluster, Redis } from 'ioredis';

/** The reason in one or two words. It is public. */
export type Reason = 'refused' | 'timeout' | 'auth_failed' | 'loading' | 'replica' | 'sentinel' | 'no_database' | 'certificate';

/** What to say of an address that `isRedisAddress` refuses. safety: it does not quote the address, which may hold a password. */
export const noRedisAddress = {
  text: 'is no address of a Redis',
  fix: 'write it like redis://127.0.0.1:6379, or redis://127.0.0.1:6379/2 for its database 2; in a password write % codes for / # ? %, such as %23 for #',
};

/**
 * Whether the text is the address of a Redis.
 * safety: ioredis throws at some other texts, and takes others for a socket, a host without TLS, or a database that has no number.
 */
export function isRedisAddress(text: string): boolean {
  const url = /^rediss?:\/\//.test(text) ? URL.parse(text) : null;
  // behind p@ss#word the rest is a fragment, and a part of the password would be looked up as the host
  return (
    url !== null && url.hostname !== '' && url.hash === '' && /^\/?\d*$/.test(url.pathname) && isDecodable(url.username + url.password)
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Redis answers, and cannot be used. */
export class Unfit extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Throws where gateways cannot share the server: it would accept connections, and then refuse
 * writes or keep them in the wrong place. Returns whether the server is a node of a cluster.
 */
export async function look(client: Redis): Promise<boolean> {
  const { db = 0 } = client.options;
  // the commands are sent together, so that all of them take one round trip
  const [hello, selected, pong] = await Promise.allSettled([client.hello(), db === 0 ? null : client.select(db), ping(client)]);
  if (pong.status === 'rejected') throw pong.reason;
  // wire: names and values in turn; a Redis before 6, and some proxies, know no HELLO (https://redis.io/docs/latest/commands/hello/)
  const facts: readonly unknown[] = hello.status === 'fulfilled' ? hello.value : [];
  const valueOf = (name: string): unknown => facts[facts.indexOf(name) + 1];
  if (valueOf('mode') === 'sentinel') {
    throw new Unfit(
      'sentinel',
      'this is a Sentinel, which keeps no data; the address must be that of the primary, or of a proxy that follows it',
    );
  }
  // safety: ioredis would go on with database 0, and its counts and answers may be those of other gateways
  if (selected.status === 'rejected') throw new Unfit('no_database', `database ${db} cannot be selected`, { cause: selected.reason });
  if (valueOf('mode') === 'cluster') return true;
  if (valueOf('role') === 'replica') {
    throw new Unfit('replica', 'this is a replica, which takes no writes; the address must lead to the primary');
  }
  return false;
}

/** Throws where the node of the cluster that has this key does not answer. */
export async function lookThrough(cluster: Cluster, key: string): Promise<false> {
  await answered(cluster.exists(key));
  return false;
}

/**
 * Throws where Redis does not answer. In a cluster, each primary must answer: a ping
 * of one random primary would succeed or fail by chance while another one is dead.
 */
export async function ping(client: Cluster | Redis): Promise<void> {
  await (client.isCluster ? Promise.all(primariesOf(client as Cluster).map(ping)) : answered((client as Redis).ping()));
}

/** wire: ioredis forgets a node whose connection has ended, until the cluster has listed its nodes again. */
function primariesOf(cluster: Cluster): Redis[] {
  const nodes = new Map(cluster.nodes('master').map((node) => [`${node.options.host}:${node.options.port}`, node]));
  const primaries = Array.from(new Set(cluster.slots.map(([primary]) => primary)), (place = '') => nodes.get(place));
  if (primaries.every((node) => node !== undefined)) return primaries;
  cluster.refreshSlotsCache();
  throw new Error('the connection to a primary of the cluster has ended');
}

/** An error reply is an answer too, such as the one to a user who may not run the command. */
async function answered(asked: Promise<unknown>): Promise<void> {
  await asked.catch((error: unknown) => {
    if (!isRefused(error, 'NOPERM')) throw error;
  });
}

/**
 * A client of the whole cluster to which this node belongs. Each command goes
 * to the node that has its key; all keys of a script must be on one node.
 */
export const clusterOf = ({ options }: Redis, make: typeof Cluster): Cluster =>
  new make([{ host: options.host, port: options.port }], {
    enableOfflineQueue: false,
    enableReadyCheck: false,
    clusterRetryStrategy: options.retryStrategy as (times: number) => number,
    // a command whose connection broke may have run, so its sender decides whether to retry
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // the name of a node stays its address: it is looked up at each connection, and TLS checks it
    dnsLookup: (name, found) => found(null, name),
    redisOptions: { ...options, lazyConnect: true },
  });

/**
 * Whether Redis answered with an error, of this kind. A script of Redis 6 has the kind in the middle of its error.
 * wire: ioredis gives the name `ReplyError` to an error reply of Redis, which begins with a minus sign.
 */
export const isRefused = (error: unknown, kind = ''): boolean =>
  error instanceof Error && error.name === 'ReplyError' && error.message.includes(kind);

export function reasonOf(error: Error): Reason {
  const { message } = error;
  if (error instanceof Unfit) return error.reason;
  if (/^(?:NOAUTH|WRONGPASS|NOPERM)/.test(message)) return 'auth_failed';
  if (message.startsWith('LOADING')) return 'loading';
  // wire: each message of Node about a certificate has this word (https://nodejs.org/api/tls.html#x509-certificate-error-codes)
  if (message.includes('certificate')) return 'certificate';
  return /ETIMEDOUT|Socket timeout/.test(message) ? 'timeout' : 'refused';
}
