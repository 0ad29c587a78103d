/** How many failures of providers reach the callers, and how many calls of providers this takes. */
import { Pool } from 'undici';
import { faultyProviders } from '../_kit/faulty-provider.ts';
import type { Calls } from '../_kit/faulty-provider.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway } from './gateway.ts';
import type { StartedGateway } from './gateway.ts';
import { fileBeside, startProcess, wait } from './processes.ts';
import type { Started } from './processes.ts';
import routing from './routing.ts';
import { headers, path, requestFor } from './workload.ts';

const able = { streaming: true, tools: true, reasoning: true };
const pricing = { prompt: '0.000001', completion: '0.000002' };

/** A gateway with one model and these providers for it, in this order. */
interface Scene {
  readonly faults: Readonly<Record<string, string>>;
  readonly policy?: object;
  /** Settings of each provider. */
  readonly provider?: object;
}

interface Sent {
  readonly requests: number;
  readonly answered: number;
  /** The number of answers with each status, and `cut` for streams that broke off. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly seconds: number;
}

class Stage {
  readonly #faulty: Started;
  readonly #gateway: StartedGateway;

  constructor(faulty: Started, gateway: StartedGateway) {
    this.#faulty = faulty;
    this.#gateway = gateway;
  }

  /** Sends requests, every second one a stream, until the number or the time is reached. */
  async send({
    connections,
    requests = Infinity,
    forMs = Infinity,
    everyMs = 0,
  }: {
    connections: number;
    requests?: number;
    forMs?: number;
    everyMs?: number;
  }): Promise<Sent> {
    const pool = new Pool(this.#gateway.url, { connections, pipelining: 1 });
    const outcomes = new Map<string, number>();
    const startedAt = performance.now();
    let sent = 0;
    const work = async (): Promise<void> => {
      while (sent < requests && performance.now() - startedAt < forMs) {
        const at = sent++;
        const outcome = await outcomeOf(pool, at % 2 === 0);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (everyMs > 0) await wait(everyMs);
      }
    };
    await Promise.all(Array.from({ length: connections }, work));
    await pool.close();
    return { requests: sent, answered: outcomes.get('answered') ?? 0, outcomes, seconds: (performance.now() - startedAt) / 1000 };
  }

  async calls(): Promise<Readonly<Record<string, Calls>>> {
    return (await (await fetch(`${this.#faulty.url}/counts`)).json()) as Record<string, Calls>;
  }

  async close(): Promise<void> {
    await this.#gateway.stop();
    await this.#faulty.stop();
  }
}

async function outcomeOf(pool: Pool, isStream: boolean): Promise<string> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path,
    headers,
    body: requestFor('plain', { stream: isStream, reasoning_effort: null }),
  });
  const text = await body.text();
  if (statusCode !== 200) return `${statusCode} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`;
  return text.endsWith(isStream ? 'data: [DONE]\n\n' : '}') ? 'answered' : 'cut';
}

async function stageOf({ faults, policy = {}, provider = {} }: Scene): Promise<Stage> {
  const faulty = await startProcess({ name: 'faulty provider', args: [fileBeside('../_kit/faulty-provider.ts')] });
  const models = [
    { id: 'plain', pricing, providers: Object.keys(faults).map((providerId) => ({ providerId, externalId: 'plain', ...able })) },
  ];
  const more = {
    providers: faultyProviders(faulty.url, faults, provider),
    models,
    include: [],
    routing: { default: { strategy: 'ordered', ...policy } },
  };
  return new Stage(faulty, await startBenchGateway({ upstream: '', more }));
}

const share = ({ answered, requests }: Sent): string => `${((100 * answered) / requests).toFixed(3)} %`;
const failuresOf = ({ outcomes }: Sent): string =>
  [...outcomes]
    .filter(([outcome]) => outcome !== 'answered')
    .map(([outcome, count]) => `, ${count} × ${outcome}`)
    .join('');
const callsEach = (calls: Readonly<Record<string, Calls>>, { requests }: Sent): number =>
  Object.values(calls).reduce((sum, { at }) => sum + at.length, 0) / requests;
const spread = (calls: Readonly<Record<string, Calls>>): string =>
  Object.entries(calls)
    .map(([name, { at }]) => `${name} ${at.length}`)
    .join(', ');

async function answered(
  what: string,
  scene: Scene,
  { requests, least, most }: { requests: number; least: number; most?: number },
): Promise<Figure[]> {
  const stage = await stageOf(scene);
  const sent = await stage.send({ connections: 16, requests });
  const calls = await stage.calls();
  await stage.close();
  const each = callsEach(calls, sent);
  return [
    {
      what: `${what}: answered of ${requests}${failuresOf(sent)}`,
      gateway: share(sent),
      target: `≥ ${(100 * least).toFixed(2)} %`,
      isMet: sent.answered / requests >= least,
    },
    {
      what: `  calls for each (${spread(calls)})`,
      gateway: each.toFixed(3),
      ...(most !== undefined && { target: `≤ ${most}`, isMet: each <= most }),
    },
  ];
}

/**
 * Asks one after the other, so that the calls of the provider depend on the gateway's decisions, and not on the number of running requests.
 */
async function dead(): Promise<Figure[]> {
  const stage = await stageOf({ faults: { broken: 'dead', good: 'fine' }, provider: { breaker: { failures: 5, rest_ms: 500 } } });
  const forMs = 10_000;
  const sent = await stage.send({ connections: 1, forMs, everyMs: 2 });
  const { broken = { at: [] } } = await stage.calls();
  await stage.close();
  const restsFrom = broken.at.findIndex((at, index) => at - (broken.at[index - 1] ?? at) > 400);
  const before = restsFrom < 0 ? broken.at.length : restsFrom;
  const probes = broken.at.slice(before);
  // the provider rests for 0.5, 1, 2, 4 s
  const gaps = probes.map((at, index) => at - (broken.at[before + index - 1] ?? at));
  return [
    {
      what: `a dead target, ${sent.requests} requests one after the other: answered${failuresOf(sent)}`,
      gateway: share(sent),
      target: '100 %',
      isMet: sent.answered === sent.requests,
    },
    { what: '  calls before it rests', gateway: String(before), target: '≤ 10', isMet: before <= 10 },
    {
      what: `  calls after that, in ${forMs / 1000} s with rests of 0.5, 1, 2, 4 s`,
      gateway: `${probes.length} (after ${gaps.map((gap) => `${(gap / 1000).toFixed(2)} s`).join(', ')})`,
      target: '4, one for each rest',
      isMet: probes.length === 4 && gaps.every((gap, at) => gap >= 500 * 2 ** at - 20),
    },
  ];
}

async function limited(): Promise<Figure[]> {
  const connections = 16;
  const stage = await stageOf({ faults: { full: 'limited-60', good: 'fine' } });
  const sent = await stage.send({ connections, requests: 3000 });
  const { full = { at: [] } } = await stage.calls();
  await stage.close();
  return [
    {
      what: `retry-after: 60, ${sent.requests} requests, ${connections} at a time: answered${failuresOf(sent)}`,
      gateway: share(sent),
      target: '100 %',
      isMet: sent.answered === sent.requests,
    },
    {
      what: '  calls of the limited target',
      gateway: String(full.at.length),
      target: `≤ ${connections}, those in flight`,
      isMet: full.at.length <= connections,
    },
  ];
}

/**
 * Requests a second that are answered by a provider with a limit for each key, under more load than its limits allow.
 * Each window of a key begins with its first call, so a little time is lost at each end; test/e2e has the exact counts.
 */
async function pool(): Promise<Figure[]> {
  const forMs = 10_000;
  const rates: number[] = [];
  for (const keys of [['a'], ['a', 'b', 'c']]) {
    const stage = await stageOf({ faults: { up: 'each-60-1000' }, provider: { api_key: keys.map((key) => `key-${key}`) } });
    // at most 320 requests a second, so that refusals do not keep the processor busy
    const sent = await stage.send({ connections: 16, forMs, everyMs: 50 });
    const { up = { answered: 0 } } = await stage.calls();
    rates.push(up.answered / sent.seconds);
    await stage.close();
  }
  const [one = NaN, three = NaN] = rates;
  return [
    {
      what: 'a limit of 60 a second for each key: three keys beside one',
      gateway: `${three.toFixed(0)}/s`,
      floor: `${one.toFixed(0)}/s`,
      ratio: three / one,
      target: '≥ 2.8 ×',
      isMet: three / one >= 2.8,
    },
  ];
}

export default {
  name: 'faults',
  about: 'scripted providers that fail: what callers get, and how often providers are asked. Half of the requests are streams',
  async measure() {
    const third = 'fails-30';
    return [
      ...(await answered(
        'the first of three fails 30 %',
        { faults: { flaky: third, good: 'fine', spare: 'fine' } },
        { requests: 30_000, least: 0.9999, most: 1.35 },
      )),
      ...(await answered(
        'all three fail 30 %, six attempts',
        { faults: { one: third, two: third, three: third }, policy: { strategy: 'balanced', max_attempts: 6 } },
        { requests: 30_000, least: 0.999 },
      )),
      ...(await dead()),
      ...(await limited()),
      ...(await pool()),
      ...(await routing.measure()),
    ];
  },
} satisfies Subject;
