/** What must hold whatever providers do. Each rule gives the sentences that tell what is wrong; none where all is right. */
import { parseDollars } from '../../../core/money.ts';
import type { Candidate, RequestRecord } from '../../../core/pipeline/context.ts';
import { hintMs, textOf } from './acting-provider.ts';
import type { Call } from './acting-provider.ts';
import { limits } from './run-case.ts';
import type { Ended, Played, Seen } from './run-case.ts';
import type { Act, AnyPolicy } from './any-case.ts';

type Rule = (played: Played) => readonly string[];

/** A rule about each request by itself. */
const ofEach =
  (rule: (seen: Seen, played: Played) => readonly string[]): Rule =>
  (played) =>
    [...played.seen, ...played.last].flatMap((seen) => rule(seen, played).map((what) => `${what}: ${told(seen)}`));

const when = (isWrong: boolean, what: string): readonly string[] => (isWrong ? [what] : []);

/** A request in one line, for the message of a failure. */
const told = ({ request, prompt, got, record, way }: Seen): string =>
  `${prompt} ${JSON.stringify(request)} got ${got?.status} ${record.outcome} ${record.error?.code ?? ''} by ${way.ended
    .map(({ number, target, result }) => `${number}. ${target} ${result.outcome} ${result.startedMs}+${result.durationMs}`)
    .join(
      ', ',
    )} of ${way.candidates.map(({ target, dropped }) => `${target}${dropped === null ? '' : ` (${dropped.reason})`}`).join(', ')}`;

const policyOf = ({ one }: Played, { request }: Seen): AnyPolicy => (request.model === 'auto' ? { ...one.policy, ...one.own } : one.policy);

const standingOf = ({ way }: Seen): readonly Candidate[] =>
  way.candidates.filter(({ dropped, answeredBy }) => dropped === null && answeredBy === null);

const mappingOf = (seen: Seen, target: string): Candidate['mapping'] | undefined =>
  standingOf(seen).find((one) => one.target === target)?.mapping;

/** The attempt ended no earlier: `at` of a result may be later, where the machine stood still. */
const endOf = ({ startedAt, result }: Ended): number => startedAt + result.durationMs - 1;

const outcomeOf = ({ result }: Ended): string => result.outcome;

/** The gateway's own limits let these pass by: no provider was asked. */
const isPassed = ({ result: { outcome, status } }: Ended): boolean =>
  status === null && ['rate_limit_exceeded', 'concurrency_limit_exceeded', 'budget_exceeded'].includes(outcome);

const mayPass = new Set([
  'upstream_rate_limited',
  'upstream_unreachable',
  'upstream_invalid_response',
  'upstream_truncated',
  'upstream_error',
  'upstream_unavailable',
  'upstream_overloaded',
]);
const refusedKey = new Set(['upstream_auth_error', 'upstream_quota_exhausted']);
const ofKey = new Set(['upstream_rate_limited', ...refusedKey]);
const ofCaller = new Set(['upstream_invalid_request']);
/** The attempt has not failed by itself. */
const wasEnded = new Set(['outrun', 'client_closed']);

const isOverdue = ({ record }: Seen, { one }: Played): boolean => record.durationMs >= one.totalMs - 2;

/** Outcomes of a call, where no time limit and no client ended it. A plain answer is not whole before its end. */
function outcomesOf({ act, isStream }: Call): readonly string[] {
  if (act.does === 'refuses') return [refusals[act.status] ?? '?'];
  return act.does === 'finishes' && !isStream ? ['upstream_truncated'] : outcomes[act.does];
}

const outcomes: Readonly<Record<Exclude<Act['does'], 'refuses'>, readonly string[]>> = {
  answers: ['answered'],
  finishes: ['answered'],
  'is silent': ['answered'],
  breaks: ['upstream_unreachable'],
  begins: ['upstream_unreachable', 'upstream_truncated', 'upstream_invalid_response'],
  stops: ['upstream_truncated', 'upstream_invalid_response', 'upstream_error'],
  fails: ['upstream_error'],
  'is empty': ['upstream_truncated', 'upstream_invalid_response'],
  hangs: [],
};

const refusals: Readonly<Record<number, string>> = {
  400: 'upstream_invalid_request',
  401: 'upstream_auth_error',
  402: 'upstream_quota_exhausted',
  403: 'upstream_auth_error',
  404: 'upstream_model_not_found',
  408: 'upstream_timeout',
  413: 'upstream_invalid_request',
  429: 'upstream_rate_limited',
  500: 'upstream_error',
  503: 'upstream_unavailable',
  529: 'upstream_overloaded',
};

/** Whether a time limit can have ended an attempt so. */
const isLate = ({ result: { outcome, durationMs } }: Ended, seen: Seen, played: Played): boolean =>
  (outcome === 'upstream_timeout' && (durationMs >= limits.firstByteMs - 2 || isOverdue(seen, played))) ||
  (outcome === 'upstream_idle_timeout' && durationMs >= limits.idleMs - 2);

const fits = (ended: Ended, call: Call, seen: Seen, played: Played): boolean =>
  wasEnded.has(outcomeOf(ended)) || isLate(ended, seen, played) || outcomesOf(call).includes(outcomeOf(ended));

const once = ofEach(({ record, way }) => [
  ...when(way.opened.length !== way.ended.length, 'an attempt that began has no result, or two'),
  ...when(record.attempts.length !== way.ended.length, 'the record has other attempts than there were'),
  ...when(new Set(way.ended.map(({ number }) => number)).size !== way.ended.length, 'an attempt has two results'),
  ...when(
    record.attempts.some(({ provider, externalId, target = `${provider}/${externalId}`, outcome }, at) => {
      const ended = way.ended[at];
      return ended?.target !== target || ended.result.outcome !== outcome;
    }),
    'the record has the attempts in another order, or under other names',
  ),
]);

/** The calls of a target: each of them belongs to one attempt, but one whose used connection broke is sent again. */
const atProviders: Rule = (played) => {
  const byPrompt = Map.groupBy(played.seen, ({ prompt }) => prompt);
  return Array.from(byPrompt).flatMap(([prompt, group]) => {
    const calls = played.calls.filter((call) => call.prompt === prompt);
    const ended = group.flatMap((seen) => seen.way.ended.map((one) => ({ seen, one })));
    const targets = new Set([...calls.map(({ target }) => target), ...ended.map(({ one }) => one.target)]);
    return [...targets].flatMap((target) => {
      const there = calls.filter((call) => call.target === target);
      const here = ended.filter(({ one }) => one.target === target && !isPassed(one));
      const sentAgain = there.filter(({ act, isOnUsed }) => act.does === 'breaks' && isOnUsed).length;
      const mayBeMissing = here.filter(({ one }) => one.result.status === null).length;
      const isOdd = there.length - sentAgain > here.length || here.length - mayBeMissing > there.length;
      const stray = here.filter(
        ({ one, seen }) =>
          one.result.outcome !== 'upstream_unreachable' &&
          !wasEnded.has(outcomeOf(one)) &&
          !isLate(one, seen, played) &&
          !there.some((call) => fits(one, call, seen, played)),
      );
      return [
        ...when(isOdd, `${target} got ${there.length} calls, and ${here.length} are on record: ${group.map(told).join('; ')}`),
        ...stray.map(({ one, seen }) => `${target} did not do what is on record (${outcomeOf(one)}): ${told(seen)}`),
      ];
    });
  });
};

const inNumber = ofEach((seen, played) => {
  const { max_attempts: most, retry } = policyOf(played, seen);
  const { ended, opened } = seen.way;
  const asked = ended.filter((one) => !isPassed(one));
  const perTarget = Map.groupBy(
    asked.filter((one) => outcomeOf(one) !== 'outrun'),
    ({ target }) => target,
  );
  const atOnce = opened.filter(({ at, number, target }) =>
    ended.some((other) => other.target === target && other.number !== number && other.startedAt < at && other.at > at),
  );
  return [
    ...when(asked.length > most, `more than ${most} attempts`),
    ...[...perTarget].flatMap(([target, tries]) => when(tries.length > retry.same_target + 1, `${target} was asked ${tries.length} times`)),
    ...when(atOnce.length > 0, 'a target was asked twice at one time'),
    ...when(
      opened.some(({ target }) => !standingOf(seen).some((one) => one.target === target)),
      'a target was asked that is no candidate',
    ),
  ];
});

/** The failures of a request before this moment. */
const failedBefore = ({ way }: Seen, at: number): readonly Ended[] =>
  way.ended.filter((one) => one.at <= at && outcomeOf(one) !== 'answered' && !wasEnded.has(outcomeOf(one)));

const againOnlyAtTheEnd = ofEach((seen, played) => {
  const { hedge_ms: hedge, retry } = policyOf(played, seen);
  if (hedge !== false) return [];
  return seen.way.opened.flatMap(({ target, at, number }) => {
    const before = failedBefore(seen, at);
    const own = before.findLast((one) => one.target === target);
    if (own === undefined) return [];
    // the other keys of a provider that has failed, or has no room, come after the retries of others
    const failed = before.filter((one) => !ofKey.has(outcomeOf(one))).map((one) => mappingOf(seen, one.target));
    const untried = standingOf(seen).filter(
      (one) => !failed.includes(one.mapping) && !seen.way.opened.some((other) => other.target === one.target && other.number <= number),
    );
    const wait = endOf(own) + (own.result.retryAfterMs ?? 0) - at;
    return [
      ...when(!mayPass.has(outcomeOf(own)), `${target} was asked again after ${outcomeOf(own)}`),
      ...when(retry.same_target === 0, `${target} was asked again, and same_target is 0`),
      ...when(untried.length > 0, `${target} was asked again before ${untried[0]?.target}`),
      ...when(wait > 3, `${target} was asked again ${wait} ms too early`),
    ];
  });
});

const endsAtTheCallersFault = ofEach((seen) =>
  seen.way.ended
    .filter((one) => ofCaller.has(outcomeOf(one)))
    .flatMap((fault) =>
      when(
        seen.way.opened.some(({ at }) => at > fault.at),
        'a target was asked after a fault of the caller',
      ),
    ),
);

/** Whether a retry of this target would have to wait for too long. */
const isTooLong = ({ result }: Ended, seen: Seen, played: Played): boolean => {
  const { retry } = policyOf(played, seen);
  const wait = result.retryAfterMs ?? 0;
  return wait > retry.max_ms || seen.record.durationMs + Math.max(wait, retry.max_ms) >= played.one.totalMs;
};

const triesAll = ofEach((seen, played) => {
  const { record, way } = seen;
  if (record.outcome !== 'failed' || isOverdue(seen, played) || way.ended.some((one) => ofCaller.has(outcomeOf(one)))) return [];
  const { max_attempts: most, retry } = policyOf(played, seen);
  if (way.ended.filter((one) => !isPassed(one)).length >= most) return [];
  return standingOf(seen).flatMap(({ target }) => {
    const own = way.ended.filter((one) => one.target === target && outcomeOf(one) !== 'outrun');
    const last = own.at(-1);
    if (last === undefined) return [`fails before ${target} is asked`];
    const isLeft = mayPass.has(outcomeOf(last)) && own.length <= retry.same_target && !isTooLong(last, seen, played);
    return when(isLeft, `fails before ${target} is asked again`);
  });
});

const othersFirst = ofEach((seen, played) => {
  if (policyOf(played, seen).hedge_ms !== false) return [];
  const { opened } = seen.way;
  return opened.flatMap(({ target, at }, index) => {
    const before = opened[index - 1];
    const last = failedBefore(seen, at).at(-1);
    if (before === undefined || last === undefined || ofKey.has(outcomeOf(last)) || isPassed(last)) return [];
    const mapping = mappingOf(seen, target);
    if (mapping !== mappingOf(seen, before.target) || target === before.target) return [];
    const others = standingOf(seen).filter(
      (one) => one.mapping !== mapping && one.isBehind !== true && !opened.slice(0, index).some((other) => other.target === one.target),
    );
    return when(others.length > 0, `another key was asked before another provider, ${others[0]?.target}`);
  });
});

const fallbacksLast = ofEach((seen, played) => {
  const { max_attempts: most, hedge_ms: hedge } = policyOf(played, seen);
  if (hedge !== false) return [];
  const { opened, ended } = seen.way;
  const isFallback = (name: string): boolean => standingOf(seen).some((one) => one.target === name && one.isFallback);
  const first = opened.findIndex(({ target }) => isFallback(target));
  const calls = (at: number): number => ended.filter((one) => one.at <= at && !isPassed(one)).length;
  if (first < 0) {
    const isOwed = most > 1 && seen.record.outcome === 'failed' && ended.filter((one) => !isPassed(one)).length >= most;
    return when(isOwed && standingOf(seen).some((one) => one.isFallback), 'no fallback was asked');
  }
  const begun = opened.slice(0, first).map(({ target }) => standingOf(seen).find((one) => one.target === target)?.mapping);
  const untried = standingOf(seen).filter((one) => !one.isFallback && one.isBehind !== true && !begun.includes(one.mapping));
  const isLastCall = calls(opened[first]?.at ?? 0) >= most - 1;
  return when(untried.length > 0 && !isLastCall, `a fallback was asked before ${untried[0]?.target}`);
});

const inTheOrderOfTheFile = ofEach((seen, played) => {
  const { strategy, hedge_ms: hedge } = policyOf(played, seen);
  if (!(strategy === 'ordered' || strategy === 'cheapest') || hedge !== false) return [];
  const { models } = played.one;
  const own = standingOf(seen).filter((one) => !one.isFallback);
  const modelOf = (one: Candidate): number => Number(one.model.id.slice(1));
  const rank = (one: Candidate): number => {
    const placed = models[modelOf(one)]?.providers.findIndex(({ at }) => `p${at}` === one.provider.id) ?? 0;
    return strategy === 'ordered' ? modelOf(one) * 10 + placed : (models[modelOf(one)]?.price ?? 0) * 100 + modelOf(one) * 10 + placed;
  };
  const ranks = own.map(rank);
  return when(
    ranks.some((value, at) => value < (ranks[at - 1] ?? 0)),
    `not in the order of "${strategy}"`,
  );
});

const stickyStays: Rule = (played) => {
  const groups = Map.groupBy(
    played.seen.filter((seen) => {
      const { sticky, strategy, hedge_ms: hedge } = policyOf(played, seen);
      const isSpread = strategy !== 'ordered' && strategy !== 'cheapest';
      return sticky === 'meta.session' && isSpread && hedge === false && seen.way.opened.length > 0;
    }),
    ({ request, way }) =>
      `${request.model} ${request.session} ${way.candidates
        .map(({ target, dropped, isFallback }) => `${target}${dropped === null}${isFallback}`)
        .toSorted()
        .join(' ')}`,
  );
  return Array.from(groups).flatMap(([name, group]) =>
    when(
      new Set(group.map(({ way }) => way.opened[0]?.target)).size > 1,
      `a session moves although nothing rests: ${name}: ${group.map(told).join('; ')}`,
    ),
  );
};

interface Reply {
  readonly text: string;
  readonly code: string | null;
  readonly isDone: boolean;
  readonly roles: number;
}

interface WireReply {
  readonly error?: { readonly code: string };
  readonly choices?: readonly {
    readonly message?: { readonly content: string | null };
    readonly delta?: { readonly content?: string; readonly role?: string };
  }[];
}

/** What a reply says. */
function readOf(text: string, isStream: boolean): Reply {
  if (!isStream) {
    const { error, choices = [] } = JSON.parse(text) as WireReply;
    return { text: choices[0]?.message?.content ?? '', code: error?.code ?? null, isDone: error === undefined, roles: 1 };
  }
  const data = text.split('\n\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
  const events = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as WireReply);
  const deltas = events.flatMap(({ choices = [] }) => choices.map(({ delta = {} }) => delta));
  return {
    text: deltas.map(({ content = '' }) => content).join(''),
    code: events.find(({ error }) => error !== undefined)?.error?.code ?? null,
    isDone: data.at(-1) === '[DONE]',
    roles: deltas.filter(({ role }) => role !== undefined).length,
  };
}

const oneAnswer = ofEach((seen, played) => {
  const { got, record, request, way } = seen;
  if (got === null || got.broke) return when(got !== null && request.leaves === 'never', 'the reply breaks off');
  const reply = readOf(got.text, got.headers.get('content-type')?.startsWith('text/event-stream') === true);
  const begins = reply.text.split('.').filter((part) => part !== '');
  const answered = way.ended.filter((one) => outcomeOf(one) === 'answered');
  const call = [...played.calls].find(({ id }) => id === begins[0]);
  const isFromOther = call !== undefined && answered[0] !== undefined && call.target !== answered[0].target;
  return [
    ...when(new Set(begins).size > 1, 'the reply has pieces of two answers'),
    ...when(reply.roles > 1, 'the stream begins twice'),
    ...when(reply.isDone !== (record.outcome === 'answered'), 'the reply is whole, and the record says it is not, or the reverse'),
    ...when(reply.isDone && call !== undefined && reply.text !== textOf(call), `the reply is not whole: ${reply.text}`),
    ...when(isFromOther, 'the reply is not from the attempt that is on record as answered'),
    ...when(reply.code !== (record.error?.code ?? null), `the caller got ${reply.code}, and ${record.error?.code} is on record`),
    ...when(got.status !== record.status, `the caller got ${got.status}, and ${record.status} is on record`),
    ...when(answered.length > 1, 'two attempts answered'),
    ...when(
      way.opened.length > 0 && (answered.length === 1) !== (record.outcome === 'answered'),
      'an answer is on record under another outcome',
    ),
    ...when(
      record.outcome === 'answered' && answered[0] !== undefined && record.provider !== answered[0].result.provider,
      'another provider is on record',
    ),
  ];
});

/** Of several failures: a fault of the request, otherwise a rate limit, otherwise the last one. */
const helpsMost = ofEach((seen, played) => {
  const { record, way, got } = seen;
  if (record.outcome !== 'failed' || got === null || isOverdue(seen, played)) return [];
  const failures = way.ended.filter((one) => !wasEnded.has(outcomeOf(one)));
  const fault = failures.find((one) => ofCaller.has(outcomeOf(one)));
  const limited = failures.filter((one) =>
    ['upstream_rate_limited', 'rate_limit_exceeded', 'concurrency_limit_exceeded'].includes(outcomeOf(one)),
  );
  const first = limited.toSorted((one, other) => (one.result.retryAfterMs ?? 0) - (other.result.retryAfterMs ?? 0))[0];
  const expected = fault ?? first ?? failures.at(-1);
  const waits = expected?.result.retryAfterMs ?? null;
  const header = got.headers.get('retry-after-ms');
  const isHeader = got.status !== 200;
  return [
    ...when(record.error?.code !== (expected && outcomeOf(expected)), `the caller should get ${expected && outcomeOf(expected)}`),
    ...when(isHeader && header !== (waits === null ? null : String(waits)), `retry-after-ms should be ${waits}, and is ${header}`),
  ];
});

const noBug = ofEach((seen, played) => [
  ...when(seen.record.status >= 500 && seen.record.status !== 502 && seen.record.status !== 503 && seen.record.status !== 504, 'a bug'),
  ...when(seen.record.durationMs > played.one.totalMs + 5000, 'takes longer than its time limit'),
]);

const refusedRight = ofEach((seen, played) => {
  const { record, way, got } = seen;
  const dropped = way.candidates.filter((one) => one.dropped?.by === 'route/health');
  const reasons = dropped.map((one) => one.dropped?.reason ?? '');
  if (record.outcome !== 'refused' || dropped.length === 0 || dropped.length < way.candidates.length || got === null) return [];
  const isLimited = reasons.some((reason) => reason.includes('(rate limit)'));
  const isRefused = reasons.every((reason) => reason.startsWith('rests for') && reason.includes('(refused key)'));
  const wait = Number(got.headers.get('retry-after-ms'));
  const { retry } = policyOf(played, seen);
  return [
    ...when(got.status !== (isLimited ? 429 : 503), `status ${got.status} where all targets rest`),
    ...when((got.headers.get('x-should-retry') === 'false') !== isRefused, 'x-should-retry does not fit the reasons'),
    ...when(!(wait > 0) || Number(got.headers.get('retry-after')) !== Math.ceil(wait / 1000), 'no retry-after, or a wrong one'),
    ...when(
      wait < 1000 && record.durationMs + wait < Math.min(retry.max_ms, played.one.totalMs) - 5,
      'did not wait for the rest that ends soon',
    ),
  ];
});

const accountOf = (target: string): string => target.slice(0, target.indexOf('/'));

/** All results of the case. */
const resultsOf = (played: Played): readonly Ended[] => [...played.seen, ...played.last].flatMap(({ way }) => way.ended);

interface Rest {
  readonly covers: (target: string) => boolean;
  readonly from: number;
  readonly to: number;
}

/** The rests that the docs promise, without those that may have ended early. */
function restsOf(played: Played): readonly Rest[] {
  const all = resultsOf(played).toSorted((one, other) => one.at - other.at);
  return all.flatMap((one, index): Rest[] => {
    const { result, target, at } = one;
    const before = all.slice(0, index).filter((other) => other.target === target);
    const answer = all.find((other) => other.target === target && other.at > at && outcomeOf(other) === 'answered');
    const until = (ms: number): number => Math.min(endOf(one) + ms, answer === undefined ? Infinity : endOf(answer));
    if (result.outcome === 'upstream_rate_limited') {
      return [{ covers: (name) => name === target, from: at, to: until(Math.min(result.retryAfterMs ?? 1000, 600_000)) }];
    }
    if (refusedKey.has(result.outcome) && result.status !== 403) {
      // whatever else the provider answers, also that the key is limited, shows that it takes the key again
      const reached = all.find(
        (other) =>
          accountOf(other.target) === accountOf(target) &&
          other.at > at &&
          other.result.status !== null &&
          !refusedKey.has(outcomeOf(other)),
      );
      return [
        {
          covers: (name) => accountOf(name) === accountOf(target),
          from: at,
          to: Math.min(endOf(one) + 60_000, reached === undefined ? Infinity : endOf(reached)),
        },
      ];
    }
    const { breaker } = played.one.providers[Number(/\d+/.exec(target)?.[0])] ?? {};
    if (!breaker) return [];
    const chain = [...before, one].slice(-2 * breaker.failures);
    const former = before.at(-chain.length);
    // the rest has begun after the first half of them, at the earliest: an answer came before them, which has ended any
    // other rest after failures. The failures of retries do not make a rest longer
    const isInRow =
      chain.length === 2 * breaker.failures &&
      (former === undefined || outcomeOf(former) === 'answered') &&
      chain.every((other, place) => isFailure(other) && other.startedAt >= (chain[place - 1]?.at ?? former?.at ?? 0)) &&
      !all.some((other) => other.target === target && other.at > at && other.startedAt <= at);
    return isInRow
      ? [
          {
            covers: (name) => name === target,
            from: at,
            to: Math.min(until(breaker.rest_ms), endOf(chain[breaker.failures - 1] ?? one) + breaker.rest_ms),
          },
        ]
      : [];
  });
}

const isFailure = (one: Ended): boolean =>
  !ofKey.has(outcomeOf(one)) &&
  !ofCaller.has(outcomeOf(one)) &&
  !wasEnded.has(outcomeOf(one)) &&
  !isPassed(one) &&
  outcomeOf(one) !== 'answered' &&
  one.result.status !== 404;

const leftAlone: Rule = (played) => {
  const rests = restsOf(played);
  return [...played.seen, ...played.last].flatMap((seen) => {
    const { routes, opened } = seen.way;
    const found = opened.find(({ target }) =>
      rests.some(({ covers, from, to }) => covers(target) && routes.from > from + 1 && routes.to < to - 3),
    );
    return when(found !== undefined, `${found?.target} was asked while it rests: ${told(seen)}`);
  });
};

const causes: Readonly<Record<string, (one: Ended) => boolean>> = {
  'rate limit': (one) => outcomeOf(one) === 'upstream_rate_limited',
  'refused key': (one) => refusedKey.has(outcomeOf(one)),
  failures: (one) => isFailure(one) || one.result.status === 404,
};

const restsForAReason: Rule = (played) => {
  const all = resultsOf(played);
  return [...played.seen, ...played.last].flatMap((seen) =>
    seen.way.candidates.flatMap(({ target, dropped }) => {
      if (dropped?.by !== 'route/health') return [];
      const [, why = ''] = /\(([a-z ]+)\)$/.exec(dropped.reason) ?? [];
      const isOfAccount = why === 'refused key';
      const caused = all.some(
        (one) =>
          (isOfAccount ? accountOf(one.target) === accountOf(target) : one.target === target) &&
          one.at <= seen.way.routes.to &&
          causes[why]?.(one) === true,
      );
      return when(!caused, `${target} rests without a cause (${dropped.reason}): ${told(seen)}`);
    }),
  );
};

/** At the end, nothing runs: then only a long rest keeps requests away from a target, or a failure of the last requests themselves. */
const comesBack: Rule = ({ targets, last }) => {
  const resting = new Set(targets.filter(({ restsUntil }) => restsUntil !== null).map(({ target }) => target));
  return last.flatMap((seen, at) => {
    const failedSince = last.slice(0, at).flatMap(({ way }) => way.ended.map(({ target }) => accountOf(target)));
    const away = seen.way.candidates.filter(
      ({ target, dropped }) => dropped?.by === 'route/health' && !resting.has(target) && !failedSince.includes(accountOf(target)),
    );
    return when(away.length > 0, `${away[0]?.target} does not come back: ${told(seen)}`);
  });
};

const pico = (dollars: string | null | undefined): bigint => parseDollars(dollars ?? '0') ?? 0n;
const sumOf = (records: readonly RequestRecord[]): bigint => records.reduce((sum, { cost }) => sum + pico(cost), 0n);

/** The records that a limit counts, and those that it counts as a request. */
const countedBy = (by: string, value: string): ((seen: Seen) => boolean) => {
  if (by === 'all') return () => true;
  if (by === 'key') return ({ record }) => record.key === value;
  if (by === 'meta.session') return ({ record }) => record.metadata['session'] === value;
  return by === 'model' ? ({ record }) => record.model === value : ({ record }) => record.provider === value;
};

const isAdmitted = ({ way, record }: Seen): boolean =>
  way.routes.to < Infinity && record.outcome !== 'refused' && way.candidates.some(({ dropped }) => dropped === null);

const tokensOf = ({ usage, attempts }: RequestRecord): number =>
  (usage.totalTokens ?? 0) + attempts.reduce((sum, { used }) => sum + (used?.usage.totalTokens ?? 0), 0);

const sumsAgree: Rule = ({ limits: shown, seen }) =>
  shown.flatMap(({ by, value, limit, used }) => {
    const group = seen.filter(countedBy(by, value));
    const records = group.map(({ record }) => record);
    const isOfCaller = by === 'all' || by === 'key' || by === 'meta.session';
    const name = `${limit} of ${by} ${value}: ${used}`;
    if (limit === 'budget') return when(pico(String(used)) !== sumOf(records), `${name}, and the records have ${sumOf(records)}`);
    if (limit === 'requests_per_minute' && isOfCaller) {
      const admitted = group.filter(isAdmitted).length;
      return when(used !== admitted, `${name}, and ${admitted} were admitted: ${group.map(told).join('; ')}`);
    }
    if (limit === 'tokens_per_minute' && isOfCaller) {
      const isKept = (one: Seen): boolean => one.way.candidates.some(({ dropped, answeredBy }) => dropped === null && answeredBy !== null);
      const tokens = group.filter((one) => !isKept(one)).reduce((sum, { record }) => sum + tokensOf(record), 0);
      return when(used !== tokens, `${name}, and the records have ${tokens}: ${group.map(told).join('; ')}`);
    }
    return [];
  });

const isWholeAnswer = (call: Call): boolean => outcomesOf(call).includes('answered');

const costs = ofEach((seen, played) => {
  const { record } = seen;
  const used = record.attempts.reduce((sum, attempt) => sum + pico(attempt.used?.cost), 0n);
  const price = BigInt(played.one.models[Number(record.model?.slice(1))]?.price ?? 0);
  const isOwn =
    record.outcome === 'answered' &&
    record.attempts.length > 0 &&
    played.calls.some((call) => call.prompt === seen.prompt && isWholeAnswer(call));
  // 10 tokens of the prompt, and 5 of the answer for twice the price
  return [
    ...when(isOwn && pico(record.cost) !== used + price * 20n * 1_000_000n, `costs ${record.cost} with ${used} of lost attempts`),
    ...when(record.outcome === 'refused' && pico(record.cost) > 0n, 'a refused request costs something'),
    ...when(pico(record.cost) < used, 'costs less than its lost attempts'),
  ];
});

const waitsAsToldBy = ofEach((seen, played) =>
  seen.way.ended.flatMap(({ target, result }) => {
    if (result.outcome !== 'upstream_rate_limited') return [];
    const calls = played.calls.filter((call) => call.target === target && call.prompt === seen.prompt);
    const waits = calls.flatMap(({ act }) => (act.does === 'refuses' && act.status === 429 ? [hintMs[act.hint]] : []));
    return when(!waits.includes(result.retryAfterMs), `${target} said ${waits.join(' and ')} ms, and ${result.retryAfterMs} is on record`);
  }),
);

/** The rules, by what they say. */
export const rules: Readonly<Record<string, Rule>> = {
  'each attempt is on record once, in the order of their ends': once,
  'the record has what providers got and did': atProviders,
  'no request asks more often than its policy allows': inNumber,
  'a target is asked again only where no other is left, and when its provider wants': againOnlyAtTheEnd,
  'a fault of the caller ends the request': endsAtTheCallersFault,
  'a request fails only when nobody is left to ask': triesAll,
  'after a failure of a provider, its other keys come last': othersFirst,
  'fallbacks come after all others, or get the last call': fallbacksLast,
  'the candidates have the order of the strategy': inTheOrderOfTheFile,
  'a session stays at its target while nothing changes': stickyStays,
  'a caller gets one answer, of the attempt that is on record': oneAnswer,
  'a caller gets the failure that helps most': helpsMost,
  'no request meets a bug, or hangs': noBug,
  'where all targets rest, the reply says so': refusedRight,
  'a target that rests is left alone': leftAlone,
  'a target rests only for a reason': restsForAReason,
  'a target comes back after its rest': comesBack,
  'limits and budgets count what is on record': sumsAgree,
  'the cost of a request is that of its attempts': costs,
  'the time that a provider asks for is on record': waitsAsToldBy,
};
