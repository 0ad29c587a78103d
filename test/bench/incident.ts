/**
 * A day of traffic with five stories in it, the same in each run: an outage that a second provider rescues, a quota, a tenant who spends
 * nearly all of the money, a model that becomes slow, and a bad release of a client. The tests and the pictures of the dashboard show it.
 */
import { doorOf } from '../../core/log/doors.ts';
import { createStore } from '../../plugins/log/journal/store/open.ts';
import type { Finished } from '../../plugins/log/journal/write/entry.ts';
import { attempt, finished, request, response } from '../plugins/log/journal/scene.ts';
import { fill } from './fill.ts';
import type { Traffic } from './fill.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The day begins with an hour without traffic: while a test looks at the last 24 hours, no request drops out of them. */
const quiet = hour;

/** When each story begins and ends, in milliseconds before the end of the day. */
export const stories = {
  /** 8 of 11 attempts at `north` fail. `south` answers nearly all of these requests. */
  outage: { from: 95 * minute, to: 25 * minute },
  /** `east` refuses two thirds of the requests of the key `batch`. No other provider serves its model. */
  quota: { from: 6 * hour, to: 5 * hour },
  /** The tenant `umbrella` sends whole books to the dearest model. */
  tenant: { from: 11 * hour, to: 4 * hour },
  /** The model `river-think` takes ten times as long as before. */
  slow: { from: 3 * hour, to: 0 },
  /** The release 4.2.0 of the mobile client sends a field that is refused, until the release is withdrawn. */
  release: { from: 15 * hour, to: 14 * hour + 20 * minute },
} as const;

/** The models, the providers of each, and the prices of a token at the first provider. */
const models = [
  { id: 'lake-mini', share: 0.5, providers: ['north', 'south'], price: [0.25e-6, 1e-6], speed: 900 },
  { id: 'lake-large', share: 0.22, providers: ['north', 'south'], price: [2e-6, 8e-6], speed: 2400 },
  { id: 'hill-large', share: 0.05, providers: ['west'], price: [15e-6, 75e-6], speed: 5200 },
  { id: 'hill-small', share: 0.13, providers: ['east'], price: [0.8e-6, 4e-6], speed: 1300 },
  { id: 'river-think', share: 0.1, providers: ['west'], price: [1e-6, 5e-6], speed: 4000 },
] as const;
type Model = (typeof models)[number];

const keys = ['web', 'web', 'web', 'mobile', 'mobile', 'search', 'batch'] as const;
const tenants = ['acme', 'acme', 'acme', 'globex', 'globex', 'initech', 'hooli', 'stark', 'wayne'] as const;
const features = ['chat', 'chat', 'search', 'summary', 'translate'] as const;
const prompts = [
  'Where is my order?',
  'Summarise this thread in three points.',
  'Translate the note into French.',
  'Which of these invoices are overdue?',
  'Write a polite reply to this complaint.',
] as const;

/** A random number between 0 and 1, the same for the same number and purpose. */
function chance(number: number, purpose: number): number {
  let bits = Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
}

const oneOf = <Value>(values: readonly Value[], at: number): Value => values[Math.floor(at * values.length)] as Value;

function modelOf(at: number): Model {
  let sum = 0;
  return models.find(({ share }) => (sum += share) > at) ?? models[0];
}

/** One request as the caller sent it. */
interface Meant {
  readonly number: number;
  readonly at: number;
  readonly model: Model;
  readonly key: string;
  readonly tenant: string;
  readonly in: number;
  readonly out: number;
  readonly ms: number;
  readonly isStream: boolean;
}

type Story = keyof typeof stories;
type Ended = Partial<Finished> & Pick<Finished, 'attempts'>;

/** The end of a request where nothing is wrong. */
function answered(
  { model, in: prompt, out, ms, isStream, number }: Meant,
  before: Finished['attempts'] = [],
  provider: string = model.providers[0],
): Ended {
  const startedMs = before.reduce((sum, one) => sum + one.durationMs + 20, 4);
  const first = Math.round(ms * (0.15 + 0.2 * chance(number, 20)));
  const last = attempt('answered', {
    provider,
    model: model.id,
    externalId: model.id,
    startedMs,
    durationMs: ms,
    timeToFirstTokenMs: isStream ? first : null,
  });
  const reasoning = model.id === 'river-think' ? Math.floor(out / 2) : 0;
  if (reasoning > 0 && isStream) Object.assign(last, { timeToAnswerMs: Math.round((first + ms) / 2) });
  return {
    attempts: [...before, last],
    provider,
    durationMs: startedMs + ms + 2,
    timeToFirstTokenMs: isStream ? startedMs + first : null,
    tokensPerSecond: isStream ? Number(((1000 * out) / (ms - first)).toFixed(1)) : null,
    usage: {
      promptTokens: prompt,
      completionTokens: out,
      reasoningTokens: reasoning,
      cachedTokens: chance(number, 21) < 0.3 ? Math.floor(prompt / 2) : 0,
      cacheWriteTokens: null,
      totalTokens: prompt + out,
    },
    cost: (prompt * model.price[0] + out * model.price[1]).toFixed(9),
  };
}

const noUsage = {
  promptTokens: null,
  completionTokens: null,
  reasoningTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  totalTokens: null,
};

/** The end of a request where every attempt failed, or none was made. */
function failed(status: number, code: string, attempts: Finished['attempts'], message: string): Ended {
  return {
    attempts,
    status,
    outcome: attempts.length === 0 ? 'refused' : 'failed',
    finishReason: null,
    nativeFinishReason: null,
    timeToFirstTokenMs: null,
    tokensPerSecond: null,
    usage: noUsage,
    cost: null,
    durationMs: attempts.reduce((sum, one) => sum + one.durationMs + 20, 3),
    error: { code, message, plugin: null },
    ...(attempts.length === 0 ? { provider: null, model: null } : { provider: attempts.at(-1)?.provider ?? null }),
  };
}

function outage(meant: Meant): Ended {
  const { number, model } = meant;
  if (chance(number, 10) >= 8 / 11) return answered(meant);
  const isTimeout = chance(number, 11) < 0.25;
  const first = attempt(isTimeout ? 'upstream_timeout' : 'upstream_unavailable', {
    provider: 'north',
    model: model.id,
    externalId: model.id,
    status: isTimeout ? null : 503,
    durationMs: isTimeout ? 10_000 : 180,
    error: isTimeout ? 'The first byte did not come within 10000 ms.' : 'The service is temporarily unavailable.',
  });
  if (chance(number, 12) > 0.04) return answered(meant, [first], 'south');
  const second = attempt('upstream_overloaded', {
    provider: 'south',
    model: model.id,
    externalId: model.id,
    status: 529,
    startedMs: first.durationMs + 24,
    durationMs: 150,
    error: 'Overloaded.',
  });
  return failed(503, 'upstream_overloaded', [first, second], 'Overloaded.');
}

function quota(meant: Meant): Ended {
  if (chance(meant.number, 10) > 2 / 3) return answered(meant);
  return failed(
    429,
    'upstream_rate_limited',
    [
      attempt('upstream_rate_limited', {
        provider: 'east',
        model: meant.model.id,
        externalId: meant.model.id,
        status: 429,
        durationMs: 60,
        retryAfterMs: 20_000,
        error: 'You exceeded your quota of tokens per minute.',
      }),
    ],
    'You exceeded your quota of tokens per minute.',
  );
}

/** The end of a request, with the failure of its story, if it is a part of one. */
function endOf(meant: Meant, is: (story: Story) => boolean): Ended {
  const { number, model, key } = meant;
  if (is('outage') && model.providers[0] === 'north') return outage(meant);
  if (is('quota') && key === 'batch' && model.id === 'hill-small') return quota(meant);
  if (is('release') && key === 'mobile') return failed(400, 'invalid_type', [], '"max_tokens" must be a whole number.');
  if (chance(number, 13) < 0.004) {
    return failed(
      502,
      'upstream_error',
      [
        attempt('upstream_error', {
          provider: model.providers[0],
          model: model.id,
          externalId: model.id,
          status: 500,
          durationMs: 240,
          error: 'Internal server error.',
        }),
      ],
      'Internal server error.',
    );
  }
  return answered(meant);
}

/** The time of a request. Requests are numbered evenly; this function makes fewer of them at night. */
const timeOf = (share: number): number =>
  share + (0.7 * Math.sin(2 * Math.PI * (share + 0.2)) - 0.7 * Math.sin(2 * Math.PI * 0.2)) / (2 * Math.PI);

function meantOf(number: number, at: number, is: (story: Story) => boolean): Meant {
  const isBook = is('tenant') && chance(number, 1) < 0.06;
  const model = isBook ? models[2] : is('quota') && chance(number, 2) < 0.3 ? models[3] : modelOf(chance(number, 3));
  const size = 0.3 + 1.7 * chance(number, 4) ** 2;
  const out = Math.round(240 * size * (model.id === 'river-think' ? 4 : 1));
  return {
    number,
    at,
    model,
    out,
    key: is('quota') && model.id === 'hill-small' ? 'batch' : isBook ? 'search' : oneOf(keys, chance(number, 5)),
    tenant: isBook ? 'umbrella' : oneOf(tenants, chance(number, 6)),
    in: isBook ? 90_000 + Math.round(60_000 * chance(number, 7)) : Math.round(900 * size * (0.5 + chance(number, 7))),
    ms: Math.round(model.speed * size * (0.5 + chance(number, 8)) * (is('slow') && model.id === 'river-think' ? 10 : 1)) + 60,
    isStream: chance(number, 9) < 0.7,
  };
}

/** @param end of the day, in milliseconds since 1970 */
export function incident(records: number, end: number): Traffic {
  const payloadOf = (number: number): string => {
    const at = Math.floor(end - day + quiet + timeOf(number / records) * (day - quiet - 1));
    const is = (story: Story): boolean => end - at <= stories[story].from && end - at > stories[story].to;
    const meant = meantOf(number, at, is);
    const { model, key, tenant, isStream } = meant;
    const body = request(
      meant.in > 50_000 ? `${'It was a long book. '.repeat(200)} What happens in it?` : oneOf(prompts, chance(number, 14)),
    );
    const ended = { model: model.id, ...endOf(meant, is) };
    const isMobile = key === 'mobile';
    const path = key === 'search' ? '/v1/responses' : key === 'batch' ? '/v1/messages' : '/v1/chat/completions';
    return JSON.stringify({
      ...finished({
        at,
        number,
        key,
        path,
        door: doorOf(path),
        stream: isStream,
        requestedModel: model.id,
        metadata: {
          'tenant-id': tenant,
          feature: oneOf(features, chance(number, 15)),
          'session-id': `s-${Math.floor(number / 40)}-${Math.floor(4 * chance(number, 16))}`,
        },
        userAgent: isMobile ? `mobile/${is('release') ? '4.2.0' : '4.1.9'}` : key === 'batch' ? 'OpenAI/Python 2.1.0' : 'OpenAI/JS 6.9.1',
        configHash: end - at <= 13 * hour ? 'b41c9e02' : '77ad03f1',
        prices: { prompt: decimal(model.price[0]), completion: decimal(model.price[1]) },
        ...ended,
      }),
      // in the form of an earlier version: the store takes the beginning of the prompt from the request
      promptStart: undefined,
      request: {
        ...body,
        model: model.id,
        stream: isStream,
        reasoning: { effort: model.id === 'river-think' ? 'low' : null, maxTokens: null },
      },
      response:
        ended.outcome === undefined
          ? response('Certainly. Here is what I found, in short.', model.id === 'river-think' ? 'First I look at what is asked.' : '')
          : null,
    });
  };
  return { records, payloadOf };
}

/** Fills the store of a data directory with such a day. */
export async function fillWithIncident(dataDir: string, records: number): Promise<void> {
  const store = await createStore({ store: 'sqlite', url: null, dataDir, retentionDays: 0, isDurable: false });
  await store.open();
  await fill(store, dataDir, incident(records, Date.now()));
  await store.close();
}

/** A config with the providers and models of the day, for which the mock answers. */
export const incidentConfig = (dataDir: string): object => ({
  server: { data_dir: dataDir },
  providers: Object.fromEntries([...new Set(models.flatMap(({ providers }) => providers))].sort().map((id) => [id, { dialect: 'mock' }])),
  models: models.map(({ id, providers, price }) => ({
    id,
    pricing: { prompt: decimal(price[0]), completion: decimal(price[1]) },
    providers: providers.map((providerId) => ({
      providerId,
      externalId: id,
      streaming: true,
      tools: true,
      vision: true,
      ...(id === 'river-think' && { reasoning: true }),
    })),
  })),
  routing: {
    default: { strategy: 'ordered', retry: { same_target: 0 } },
    models: { auto: { candidates: ['lake-mini'], strategy: 'ordered' } },
  },
});

const decimal = (price: number): string => price.toFixed(10).replace(/0+$/, '');
