/**
 * What `gateway doctor` says of the providers: whether each can be reached, and
 * whether its keys are accepted. It asks for the list of models, which costs nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PoolKey, Provider } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { CheckupParts, Finding } from '../../../core/host/plugin.ts';
import { addressOf } from '../../../core/wire/address.ts';
import type { Dialect, Target } from '../../../core/wire/dialect.ts';
import { failure } from './answer.ts';
import { connectionsBy, fixOf, unreachable } from './connection.ts';
import type { ConnectionRequest } from './connection.ts';
import { wayTo } from '../../../core/wire/egress/way.ts';
import { headersOf } from './headers.ts';
import { HttpAnswer } from './http-answer.ts';
import * as undici from '../../../core/wire/egress/undici.ts';

const limitMs = 10_000;
const connectMs = 5000;
/** Certificates, signatures or rate limits fail because of a clock only beyond this difference. */
const mostSkewMs = 10_000;

interface Examined {
  readonly findings: readonly Finding[];
  /** How far this machine's clock is ahead of the provider's, in milliseconds; null: not known. */
  readonly skewMs: number | null;
}

export async function checkProviders({ config, dialects }: Pick<CheckupParts, 'config' | 'dialects'>): Promise<readonly Finding[]> {
  const all = [...config.providers.values()];
  const on = all.filter(({ missing, dialect }) => missing === null && dialects.has(dialect));
  const off = all.filter(({ missing }) => missing !== null);
  const examined = await Promise.all(on.map((provider) => examine(provider, dialects.get(provider.dialect) as Dialect)));
  return [
    ...examined.flatMap(({ findings }) => findings),
    ...(on.length === 0 ? [noneIsOn] : []),
    ...(off.length === 0 ? [] : [ofMissing(off)]),
    ofClock(examined.flatMap(({ skewMs }) => skewMs ?? [])),
  ];
}

const noneIsOn: Finding = {
  part: 'providers',
  state: 'warning',
  text: 'no provider of a vendor is on',
  fix: 'put a key into the environment or into .env beside the config',
};

function ofMissing(off: readonly Provider[]): Finding {
  const names = off.map(({ id, missing }) => `${id} (${missing} is not set)`);
  return { part: 'providers', state: 'note', text: `off: ${names.join(', ')}` };
}

/** The finding about the clock. The provider with the smallest difference decides, because another provider's clock may be wrong itself. */
function ofClock(skews: readonly number[]): Finding {
  const [least] = skews.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (least === undefined) return { part: 'clock', state: 'note', text: 'not compared: no provider sent its time' };
  if (Math.abs(least) <= mostSkewMs) return { part: 'clock', state: 'good', text: 'agrees with the providers' };
  return {
    part: 'clock',
    state: 'fault',
    text: `${Math.round(Math.abs(least) / 1000)} s ${least > 0 ? 'ahead of' : 'behind'} the providers`,
    fix: 'set the clock of this machine, for example by NTP',
  };
}

/** What a finding is about. */
interface About {
  readonly part: string;
  readonly host: string;
}

interface Reply {
  readonly status: number;
  readonly skewMs: number | null;
  /** Null: the status is good. */
  readonly error: GatewayError | null;
  /** What the server sent instead of an API's answer; null: nothing unusual. */
  readonly odd: 'redirect' | 'web page' | null;
}

async function examine(provider: Provider, dialect: Dialect): Promise<Examined> {
  const part = provider.id;
  const base = addressOf(provider, dialect);
  if (base === null) return { findings: [{ part, state: 'fault', text: 'has no address', fix: 'give it a base_url' }], skewMs: null };
  const url = new URL(base);
  const pool = new undici.Pool(url.origin, {
    connections: 1,
    factory: connectionsBy(wayTo(base, provider)),
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    return await examineAt(url, { provider, dialect, pool });
  } catch (thrown) {
    const error = GatewayError.from(thrown);
    const text = `${url.host}: ${error.message}${detailOf(error.cause)}`;
    return { findings: [{ part, state: 'fault', text, fix: fixOf(error.cause) }], skewMs: null };
  } finally {
    await pool.destroy();
  }
}

interface Reached {
  readonly provider: Provider;
  readonly dialect: Dialect;
  readonly pool: InstanceType<typeof undici.Pool>;
}

/** Asks for the list of models without a key, and where that does not say everything, with each key. Throws where nothing answers. */
async function examineAt({ pathname, host }: URL, reached: Reached): Promise<Examined> {
  const { provider, dialect } = reached;
  const { path: probed, headers: own } = dialect.probe ?? { path: '/models' };
  const path = pathname.replace(/\/$/, '') + probed;
  const wire = { path: probed, headers: { ...own }, body: '', adjustments: [] };
  const ask = async (headers: Readonly<Record<string, string>>): Promise<Reply> =>
    await reply({ method: 'GET', path, headers, connectMs, isTaken: false }, reached);
  const bare = headersOf(wire, undefined, provider);
  const open = await ask(bare);
  const { skewMs } = open;
  const about = { part: provider.id, host };
  const keys = keysOf(provider);
  const enough = withoutKeys(open, { provider, dialect, keys, path, about });
  if (enough !== null) return { findings: [enough], skewMs };
  const isReplaced = isDeepStrictEqual(headersOf(wire, dialect, { ...provider, apiKey: keys[0]?.secret ?? null }), bare);
  if (isReplaced) return { findings: [ofEntry(open, about)], skewMs };
  const findingOf = async ({ secret, number }: PoolKey): Promise<Finding> => {
    const answered = await ask(headersOf(wire, dialect, { ...provider, apiKey: secret }));
    return ofKey(answered, { ...about, open, name: keys.length > 1 ? `key ${number}` : 'the key' });
  };
  return { findings: await Promise.all(keys.map(findingOf)), skewMs };
}

function keysOf({ keyPool, apiKey }: Provider): readonly PoolKey[] {
  if (keyPool.length > 0) return keyPool;
  return apiKey === null ? [] : [{ secret: apiKey, number: 1 }];
}

interface Asked extends Pick<Reached, 'provider' | 'dialect'> {
  readonly keys: readonly PoolKey[];
  /** Where the list of models was looked for. */
  readonly path: string;
  readonly about: About;
}

/** The finding where the reply to a request without a key is enough for it; null: the keys must be tried. */
function withoutKeys(open: Reply, { provider, dialect, keys, path, about }: Asked): Finding | null {
  const { part, host } = about;
  // self-hosted servers have a list of models; some vendors have none
  if (open.status === 404 && provider.baseUrl !== null) {
    const fix = 'check the path of base_url: most servers want /v1 at its end';
    return { part, state: 'warning', text: `${host} answers, and knows no ${path}`, fix };
  }
  const isSigned = dialect.sign !== undefined;
  const hasCredentials = keys.length > 0 || provider.auth !== null;
  const unusable = hasCredentials || isSigned ? null : unusableFor(open, about);
  if (unusable !== null) return unusable;
  if (keys.length > 0 && !isSigned && dialect.authorise !== undefined) return null;
  const unknown = hasCredentials ? '; whether it accepts the credentials is not known' : '';
  return { part, state: 'good', text: `${host} answers${unknown}` };
}

/** What Node says of a failed connection. OpenSSL has its message in `reason`, without places in its source. */
function detailOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  const { message, reason = message } = cause as Error & { readonly reason?: string };
  return ` (${reason})`;
}

/**
 * The finding for a reply that shows that no request is answered there: from a server that fails, or not from the API at all (a
 * page for people at a wrong path, a proxy that wants a sign-in, an http address where https is served). Null for any other reply.
 */
function unusableFor({ status, odd }: Reply, { part, host }: About): Finding | null {
  if (odd !== null) {
    const then = odd === 'redirect' ? ', which is not followed' : ' and no list of models';
    return {
      part,
      state: 'warning',
      text: `${host} answers with a ${odd}${then}`,
      fix: 'check base_url: http or https, and the path (most servers want /v1 at its end)',
    };
  }
  if (status < 500) return null;
  return {
    part,
    state: 'warning',
    text: `${host} answers with ${status}, so the server or a proxy before it fails`,
    fix: 'look at the status page of the provider, or at the log of the server',
  };
}

function ofKey(answered: Reply, { part, host, open, name }: About & { open: Reply; name: string }): Finding {
  const { status, error } = answered;
  const unusable = unusableFor(answered, { part, host });
  if (unusable !== null) return unusable;
  if (error === null && open.error === null) {
    return { part, state: 'good', text: `${host} answers; it tells anybody its models, so whether it accepts ${name} is not known` };
  }
  if (error === null) return { part, state: 'good', text: `${host} accepts ${name}` };
  if (status === 403) {
    const fix = 'see at the provider what this key and its account may do, or remove the provider';
    return { part, state: 'fault', text: `${host} refuses ${name} (403). ${error.message}`, fix };
  }
  if (status === 401 || error.code === 'upstream_auth_error') {
    return { part, state: 'fault', text: `${host} refuses ${name} (${status})`, fix: 'set a valid api_key, or remove the provider' };
  }
  return { part, state: 'good', text: `${host} answers (${status}); whether it accepts ${name} is not known` };
}

/** The finding where headers of the entry replace the header with the key, as they do in each request. */
function ofEntry(answered: Reply, { part, host }: About): Finding {
  const { status, error } = answered;
  const unusable = unusableFor(answered, { part, host });
  if (unusable !== null) return unusable;
  if (error !== null && (status === 401 || status === 403)) {
    return {
      part,
      state: 'fault',
      text: `${host} refuses the headers of the entry, which are sent in place of the key (${status})`,
      fix: 'set valid headers, or remove them',
    };
  }
  const how = error === null ? '' : ` (${status})`;
  return { part, state: 'good', text: `${host} answers${how}; headers of the entry are sent in place of the key` };
}

/** Judges only an address that the operator has written, because some vendors have pages where others have a list of models. */
function oddOf({ status, headers }: HttpAnswer, { baseUrl }: Provider): Reply['odd'] {
  if (baseUrl === null) return null;
  if (status >= 300 && status < 400) return 'redirect';
  return status < 300 && /^\s*text\/html\b/i.test(String(headers['content-type'] ?? '')) ? 'web page' : null;
}

async function reply(request: ConnectionRequest, { pool, dialect, provider }: Reached): Promise<Reply> {
  const answer = new HttpAnswer();
  const late = setTimeout(() => answer.cancel(new GatewayError('upstream_timeout', tooLate)), limitMs);
  try {
    pool.dispatch(request, answer);
    await answer.head;
    const { status, headers } = answer;
    const date = Date.parse(String(headers['date'] ?? ''));
    const skewMs = Number.isNaN(date) ? null : Date.now() - date;
    const target = { provider } as Target;
    const error = status < 300 ? null : await failure(answer, { dialect, target }).catch((thrown: unknown) => GatewayError.from(thrown));
    return { status, skewMs, odd: oddOf(answer, provider), error };
  } catch (thrown) {
    throw unreachable(thrown);
  } finally {
    clearTimeout(late);
    answer.cancel();
  }
}

const tooLate = `The provider did not answer within ${limitMs / 1000} s.`;
