/** What a limited caller gets: the error of a refusal, and the headers of each reply. */
import { GatewayError } from '../../../core/errors.ts';
import type { ErrorKind } from '../../../core/errors.ts';
import { exactDollars, formatDollars } from '../../../core/money.ts';
import type { Replying } from '../../../core/pipeline/context.ts';
import { counted } from '../../../core/table.ts';
import { periodOf } from './ledger.ts';
import type { Ask, BudgetCap, BudgetLevel, Level, Refusal, Subject } from './ledger.ts';

/** The name of the plugin. Errors of candidates that are dropped carry it too. */
export const name = 'route/limits';

/** For a request that is larger than the whole limit: waiting does not help. */
const tooLarge: ErrorKind = { code: 'rate_limit_exceeded', status: 429, type: 'rate_limit_error', isFinal: true };

const seconds = (ms: number): string => `${Math.max(0.1, Math.ceil(ms / 100) / 10)} s`;

/** `the key "search-team"` */
export function nameOf({ by, value }: Subject): string {
  if (by === 'all') return 'all requests';
  return `${by.startsWith('meta.') ? '' : 'the '}${by} "${value.slice(0, 100)}"`;
}

/** The error of a refusal. `now`: epoch milliseconds. */
export function errorOf(refusal: Refusal, { tokens, pico }: Ask, now: number): GatewayError {
  const { subject, lack, waitMs } = refusal;
  const { caps } = subject;
  const retry = { plugin: name, ...(waitMs !== null && { retryAfterMs: Math.max(1, waitMs) }) };
  const whom = nameOf(subject);
  if (lack === 'budget') return budgetError(refusal, pico, now);
  if (lack === 'concurrent') {
    return new GatewayError(
      'concurrency_limit_exceeded',
      `The limit of ${counted(caps.concurrent as number, 'request')} at one time for ${whom} is reached. There is room again when one of them ends.`,
      retry,
    );
  }
  if (lack === 'requests') {
    return new GatewayError(
      'rate_limit_exceeded',
      `The limit of ${counted(caps.requests as number, 'request')} per minute for ${whom} is reached. There is room again in ${seconds(waitMs ?? 0)}.`,
      retry,
    );
  }
  if (waitMs === null) {
    return new GatewayError(
      tooLarge,
      `This request may take ${counted(tokens, 'token')}, more than the whole limit of ${counted(caps.tokens as number, 'token')} per minute for ${whom}. Send a shorter prompt, or a smaller max_tokens.`,
      { plugin: name },
    );
  }
  return new GatewayError(
    'rate_limit_exceeded',
    `The limit of ${counted(caps.tokens as number, 'token')} per minute for ${whom} has no room for this request, which may take ${tokens}. There is room again in ${seconds(waitMs)}.`,
    retry,
  );
}

function budgetError({ subject, level, budget }: Refusal, pico: bigint, now: number): GatewayError {
  const cap = subject.caps.budgets[budget] as BudgetCap;
  const state = level.budgets[budget] as BudgetLevel;
  if (state.spent === null) return unavailable(`What was spent of the budget ${budgetName(cap, subject)} is not known yet.`);
  const left = leftOf(cap, state);
  return new GatewayError(
    'budget_exceeded',
    `The budget ${budgetName(cap, subject)} has ${dollars(left)} left, and this request may cost ${dollars(pico)}. ${againAt(cap, now)}`,
    { plugin: name },
  );
}

const dollars = (pico: bigint): string => exactDollars(formatDollars(pico));

/** `of $20 per day for the key "search-team"` */
const budgetName = ({ pico, per }: BudgetCap, subject: Subject): string =>
  `of ${dollars(pico)} ${per === 'total' ? 'in total' : `per ${per}`} for ${nameOf(subject)}`;

function againAt({ per }: BudgetCap, now: number): string {
  const { end } = periodOf(per, now);
  return end === Infinity ? 'It does not begin anew.' : `It begins anew at ${new Date(end).toISOString().replace('.000', '')}.`;
}

const unavailableMs = 1000;

/** The error where it is not known now whether there is room. */
export const unavailable = (why: string): GatewayError =>
  new GatewayError('budget_unavailable', `${why} Try again in a moment.`, { plugin: name, retryAfterMs: unavailableMs });

/** The error where the price is not known, and a budget refuses such requests. */
export const unknownPrice = (subject: Subject, cap: BudgetCap, model: string): GatewayError =>
  new GatewayError(
    'budget_exceeded',
    `The price of the model "${model}" is not known, and the budget ${budgetName(cap, subject)} refuses such requests.`,
    { plugin: name },
  );

/** What is left of a budget after its spending and the reservations of running requests; never less than 0. */
export function leftOf({ pico }: BudgetCap, { spent, held }: BudgetLevel): bigint {
  const left = pico - (spent ?? 0n) - held;
  return left < 0n ? 0n : left;
}

/** `1.2s` */
const duration = (ms: number): string => `${Math.max(0, Math.ceil(ms)) / 1000}s`;

/**
 * Whether the headers of this reply may show a limit. A limit of a model or provider that did not serve the request
 * is left out, unless a limit refused the request.
 */
const isTold = ({ by, value }: Subject, { error, attempt }: Replying): boolean =>
  (by !== 'model' && by !== 'provider') || error?.plugin === name || attempt?.candidate[by].id === value;

/** The headers of a reply to a limited caller: for each kind of limit, the one with the least left. */
export function headersOf(subjects: readonly Subject[], levels: readonly Level[], context: Replying): Record<string, string> {
  const headers: Record<string, string> = {};
  let [requestsLeft, tokensLeft] = [Infinity, Infinity];
  let dollarsLeft: bigint | null = null;
  for (let at = 0; at < subjects.length; at++) {
    const subject = subjects[at] as Subject;
    if (!isTold(subject, context)) continue;
    const { caps } = subject;
    const level = levels[at] as Level;
    if (caps.requests !== null && caps.requests - level.requests < requestsLeft) {
      requestsLeft = caps.requests - level.requests;
      write(headers, names.requests, { limit: caps.requests, left: requestsLeft, resetMs: level.requestsResetMs });
    }
    if (caps.tokens !== null && caps.tokens - level.tokens < tokensLeft) {
      tokensLeft = caps.tokens - level.tokens;
      write(headers, names.tokens, { limit: caps.tokens, left: tokensLeft, resetMs: level.tokensResetMs });
    }
    for (let index = 0; index < caps.budgets.length; index++) {
      const cap = caps.budgets[index] as BudgetCap;
      const state = level.budgets[index] as BudgetLevel;
      const left = leftOf(cap, state);
      if (state.spent !== null && (dollarsLeft === null || left < dollarsLeft)) dollarsLeft = left;
    }
  }
  if (dollarsLeft !== null) headers['x-budget-remaining'] = formatDollars(dollarsLeft);
  return headers;
}

/** cost: names that are concatenated for each reply take longer than all counting. */
const names = {
  requests: { limit: 'x-ratelimit-limit-requests', left: 'x-ratelimit-remaining-requests', reset: 'x-ratelimit-reset-requests' },
  tokens: { limit: 'x-ratelimit-limit-tokens', left: 'x-ratelimit-remaining-tokens', reset: 'x-ratelimit-reset-tokens' },
};

function write(
  headers: Record<string, string>,
  name: (typeof names)['requests'],
  { limit, left, resetMs }: { limit: number; left: number; resetMs: number },
): void {
  headers[name.limit] = String(limit);
  headers[name.left] = String(Math.max(0, left));
  headers[name.reset] = duration(resetMs);
}
