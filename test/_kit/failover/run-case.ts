/** Runs a case through real sockets, and gives what the callers, the providers, the record and the taps of a plugin have seen. */
import { inTime } from '../../../core/cancellation.ts';
import type { AttemptResult, Candidate, RequestRecord } from '../../../core/pipeline/context.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { able, testGateway } from '../gateway.ts';
import type { TestGateway } from '../gateway.ts';
import { pause } from '../upstream.ts';
import { startActing } from './acting-provider.ts';
import type { Call } from './acting-provider.ts';
import type { AnyCase, AnyRequest } from './any-case.ts';

/** Times as of `performance.now()`. */
export interface Opened {
  readonly number: number;
  readonly target: string;
  readonly at: number;
}

export interface Ended extends Opened {
  readonly startedAt: number;
  readonly result: AttemptResult;
}

/** The way of one request, as a plugin sees it. */
export interface Way {
  readonly id: string;
  /** Before and after it is decided who rests and who has room. */
  readonly routes: { from: number; to: number };
  candidates: readonly Candidate[];
  readonly startedAt: number;
  readonly opened: Opened[];
  readonly ended: Ended[];
}

/** What the caller got. `broke`: the connection, or the client itself. */
export interface Got {
  readonly id: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly broke: boolean;
}

export interface Seen {
  readonly request: AnyRequest;
  readonly prompt: string;
  /** Null: the client left before the head of the reply. */
  readonly got: Got | null;
  readonly record: RequestRecord;
  readonly way: Way;
}

export interface ShownLimit {
  readonly by: string;
  readonly value: string;
  readonly limit: string;
  readonly used: number | string;
  readonly held: string | null;
}

export interface ShownTarget {
  readonly target: string;
  readonly state: string;
  readonly why: string | null;
  readonly restsUntil: string | null;
}

export interface Played {
  readonly one: AnyCase;
  readonly seen: readonly Seen[];
  readonly calls: readonly Call[];
  readonly limits: readonly ShownLimit[];
  /** After the last request, and after the last rest that is short. */
  readonly targets: readonly ShownTarget[];
  readonly last: readonly Seen[];
}

/** The time limits of the case; `giveUpMs`: when a request that has no reply counts as hanging. */
export const limits = { firstByteMs: 90, idleMs: 90, giveUpMs: 60_000 };

const adminKey = 'admin-key-of-the-test';
const wide = {
  requests_per_minute: 1_000_000,
  tokens_per_minute: 1_000_000_000,
  concurrent: 100_000,
  budget: { dollars: '1000', per: 'total' },
};
const counted = ['all', 'key', 'model', 'provider', 'meta.session'];

export const pricesOf = (price: number): { prompt: string; completion: string } => ({
  prompt: (price / 1e6).toFixed(7),
  completion: ((2 * price) / 1e6).toFixed(7),
});

function configOf(one: AnyCase, url: (provider: number) => string): Record<string, unknown> {
  const { providers, models, policy, own, hasRule, hasFallback, keepAliveMs, totalMs, tight } = one;
  const timeouts = { first_byte: limits.firstByteMs, idle: limits.idleMs, total: totalMs };
  return {
    server: { admin_key: adminKey, limits: { keep_alive_ms: keepAliveMs } },
    keys: ['a', 'b'].map((name) => ({ name, key: `key-of-caller-${name}` })),
    limits: [...counted.map((by) => ({ by, ...wide })), ...(tight === null ? [] : [tight])],
    providers: Object.fromEntries(
      providers.map(({ keys, breaker }, at) => [
        `p${at}`,
        {
          dialect: 'openai-chat',
          base_url: url(at),
          api_key: keys === 1 ? 'key-1' : Array.from({ length: keys }, (_, key) => `key-${key + 1}`),
          breaker,
        },
      ]),
    ),
    models: models.map(({ providers: served, price }, at) => ({
      id: `m${at}`,
      pricing: pricesOf(price),
      max_output_tokens: 100,
      providers: served.map((place) => ({ providerId: `p${place.at}`, externalId: `x${at}`, weight: place.weight, ...able })),
    })),
    routing: {
      default: { ...policy, timeout_ms: timeouts },
      models: {
        auto: {
          ...own,
          candidates: ['m0', { model: 'm1', weight: 2 }],
          ...(hasRule && { rules: [{ when: { stream: true }, candidates: ['m1'] }] }),
        },
        ...(hasFallback && { m0: { fallbacks: ['m1'] } }),
      },
    },
  };
}

/** Keeps the way of each request. */
function watching(ways: Map<string, Way>): AnyPlugin {
  return {
    name: 'test/watching',
    summary: 'keeps the way of each request',
    schema: {},
    apply({ hooks }) {
      const now = (): number => performance.now();
      // before the cache, which acts before route/health and may wait
      hooks.route.tap({ stage: LATE - 3 }, (candidates, { id, startedAt }) => {
        ways.set(id, { id, startedAt, routes: { from: now(), to: Infinity }, candidates: [], opened: [], ended: [] });
        return candidates;
      });
      hooks.route.tap({ stage: LATE + 3 }, (candidates, { id }) => {
        const way = ways.get(id) as Way;
        way.candidates = candidates;
        way.routes.to = now();
        return candidates;
      });
      hooks.open.tap({ stage: EARLY - 1 }, ({ id, attempt }) => {
        if (attempt.candidate.answeredBy === null) {
          ways.get(id)?.opened.push({ number: attempt.number, target: attempt.candidate.target, at: now() });
        }
        return undefined;
      });
      hooks.attempted.tap((result, { id, attempt }) => {
        const { number, candidate, startedAt } = attempt;
        ways.get(id)?.ended.push({ number, target: candidate.target, at: now(), startedAt, result });
      });
    },
  };
}

const noWay = (record: RequestRecord): Way => ({
  id: record.id,
  startedAt: 0,
  routes: { from: 0, to: 0 },
  candidates: [],
  opened: [],
  ended: [],
});

/** Throws where the work does not end: then the request hangs. */
const ends = <Value>(work: Promise<Value>, what: string): Promise<Value> => inTime(work, limits.giveUpMs, `hangs: ${what}`);

/** Reads a reply to its end. @param leave the client leaves after the first piece */
async function readReply(response: Response, leave: boolean): Promise<Got> {
  const { status, headers } = response;
  const decoder = new TextDecoder();
  let [text, broke] = ['', false];
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) break;
      text += decoder.decode(read.value, { stream: true });
      if (leave && text.includes('data: ')) {
        await reader?.cancel();
        broke = true;
        break;
      }
    }
  } catch {
    broke = true;
  }
  return { id: headers.get('x-request-id') ?? '', status, headers, text, broke };
}

interface Asking {
  readonly gateway: TestGateway;
  readonly ways: ReadonlyMap<string, Way>;
  called(prompt: string): Promise<void>;
}

async function ask(request: AnyRequest, prompt: string, { gateway, ways, called }: Asking): Promise<Seen> {
  const leaving = new AbortController();
  if (request.leaves === 'asked') void called(prompt).then(() => leaving.abort());
  const headers = {
    authorization: `Bearer key-of-caller-${request.caller}`,
    'x-gateway-session': request.session,
    'x-request-id': crypto.randomUUID(),
    ...(request.cache && { 'x-cache': 'on' }),
  };
  const body = { model: request.model, stream: request.stream, max_tokens: 20, messages: [{ role: 'user', content: prompt }] };
  const sent = gateway.post(body, { headers, signal: leaving.signal }).then(
    (response) => readReply(response, request.leaves === 'begun'),
    () => null,
  );
  const got = await ends(sent, 'the reply');
  const recorded = async (): Promise<RequestRecord> => {
    for (;;) {
      const found = gateway.records.find(({ clientRequestId }) => clientRequestId === headers['x-request-id']);
      if (found !== undefined) return found;
      await pause(1);
    }
  };
  const record = await ends(recorded(), 'the record');
  return { request, prompt, got, record, way: ways.get(record.id) ?? noWay(record) };
}

const sameText = 'a prompt that several requests have';

/** Waits until nothing runs: no call at a provider, and no reservation. */
async function quiet(gateway: TestGateway, running: () => number): Promise<readonly ShownLimit[]> {
  for (;;) {
    const shown = await admin<{ data: ShownLimit[] }>(gateway, '/api/limits');
    const isHeld = shown.data.some(({ limit, used, held }) => (limit === 'concurrent' && used !== 0) || (held !== null && held !== '0'));
    if (!isHeld && running() === 0) return shown.data;
    await pause(2);
  }
}

const admin = async <Answer>(gateway: TestGateway, path: string): Promise<Answer> =>
  (await (await gateway.get(path, { authorization: `Bearer ${adminKey}` })).json()) as Answer;

/** Waits until each rest that is shorter than a second is over. */
async function rested(gateway: TestGateway): Promise<readonly ShownTarget[]> {
  for (;;) {
    const { data } = await admin<{ data: ShownTarget[] }>(gateway, '/api/targets');
    const left = data.map(({ restsUntil }) => (restsUntil === null ? 0 : Date.parse(restsUntil) - Date.now()));
    const soon = left.filter((ms) => ms > 0 && ms < 500);
    if (soon.length === 0) return data;
    await pause(Math.max(...soon) + 1);
  }
}

export async function play(one: AnyCase): Promise<Played> {
  const acting = await startActing(one.providers);
  const ways = new Map<string, Way>();
  const gateway = await testGateway({ config: configOf(one, acting.url), plugins: [watching(ways)] });
  const asking: Asking = { gateway, ways, called: acting.called };
  let number = 0;
  const send = (request: AnyRequest): Promise<Seen> => ask(request, request.cache ? sameText : `request ${number++}`, asking);
  try {
    const seen: Seen[] = [];
    for (const { pauseMs, requests } of one.batches) {
      if (pauseMs > 0) await pause(pauseMs);
      seen.push(...(await Promise.all(requests.map(send))));
    }
    const shown = await ends(quiet(gateway, acting.running), 'a reservation or a call');
    const calls = [...acting.calls];
    acting.recover();
    const targets = await rested(gateway);
    const last: Seen[] = [];
    for (const model of ['m0', 'm1'] as const) {
      last.push(await send({ model, stream: false, cache: false, leaves: 'never', caller: 'a', session: 's1' }));
    }
    return { one, seen, calls, limits: shown, targets, last };
  } finally {
    await gateway.close();
    await acting.close();
  }
}
