/**
 * Finds out when a provider that refused may be asked again. Only for error replies.
 * wire: successful answers may carry `retry-after: 30` too (the Hugging Face router in front of Together, recorded 2026-01-27).
 */
import { fieldsOf, listOf } from './fields.ts';

/** Headers of a reply, with names in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const longestMs = 3_600_000;
/** A monthly limit is renewed within a month. A longer time is not a delay, but a date in another form. */
const absurdMs = 31 * 24 * 3_600_000;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Milliseconds to wait, or null if the reply says nothing usable (a negative number, no time, more than a month). More than an hour
 * counts as an hour. The most exact source wins: the header `retry-after-ms`, `retry-after`, the body, then the reset times of the rate
 * limits. `now` is for tests; a date in a header is otherwise compared with the reply's own `date`, because the clocks may differ.
 */
export function retryAfterMs(headers: UpstreamHeaders, body?: unknown, now?: number): number | null {
  const clock = now ?? timeOf(first(headers['date'])) ?? Date.now();
  const hint =
    numberOf(first(headers['retry-after-ms'])) ??
    secondsOrDate(first(headers['retry-after']), clock) ??
    fromDetails(body) ??
    fromWords(body) ??
    fromLimits(headers, clock);
  return hint === null || hint > absurdMs ? null : Math.min(longestMs, Math.ceil(hint));
}

const first = (value: string | readonly string[] | undefined): string | undefined => (typeof value === 'string' ? value : value?.[0]);

const positive = (value: number): number | null => (Number.isFinite(value) && value >= 0 ? value : null);

const numberOf = (text: string | undefined): number | null => (text === undefined || text.trim() === '' ? null : positive(Number(text)));

function timeOf(text: string | undefined): number | null {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

function secondsOrDate(text: string | undefined, clock: number): number | null {
  const seconds = numberOf(text);
  if (seconds !== null) return seconds * 1000;
  // safety: Date.parse reads "-5" as a year, so only a text with letters counts as a date
  const time = text !== undefined && /[a-z]/i.test(text) ? timeOf(text) : null;
  return time === null ? null : positive(time - clock);
}

/** Milliseconds of a duration such as `120ms`, `7.66s`, `6m0s`, `1h2m3.5s`; null for any other text. */
function durationOf(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|h|m|s))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) total += Number(amount) * (units[unit as string] as number);
  return total;
}

/**
 * wire: Google gives the delay as `retryDelay: "34.4s"` in `error.details[]`
 * (google.rpc.RetryInfo) and in no header. The body may be inside a list.
 */
function fromDetails(body: unknown): number | null {
  const { error } = fieldsOf(Array.isArray(body) ? (body as unknown[])[0] : body);
  for (const detail of listOf(fieldsOf(error)['details'])) {
    const delay = fieldsOf(detail)['retryDelay'];
    if (typeof delay === 'string') return durationOf(delay);
  }
  return null;
}

/** wire: OpenAI and Groq write "Please try again in 7.66s." into the message (OpenAI: Rate limits; Groq: Rate limits). */
function fromWords(body: unknown): number | null {
  const { error, message: outer } = fieldsOf(body);
  const message = fieldsOf(error)['message'] ?? error ?? outer;
  const found = typeof message === 'string' ? /try again in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)/i.exec(message) : null;
  return found === null ? null : durationOf(found[1] as string);
}

/** Names such as `x-ratelimit-reset-tokens` and `anthropic-ratelimit-requests-reset`. */
const limitReset = /^[a-z]+-ratelimit-(?:.*-)?reset(?:-|$)/;

/** The headers without those that say when limits are renewed. */
export const withoutLimits = (headers: UpstreamHeaders): UpstreamHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !limitReset.test(name)));

/**
 * The time until the last of the used-up limits is renewed. If no limit says that it
 * is used up, the time until the first renewal, which is the earliest that can help.
 */
function fromLimits(headers: UpstreamHeaders, clock: number): number | null {
  let exhausted: number | null = null;
  let earliest: number | null = null;
  for (const name of Object.keys(headers)) {
    if (!limitReset.test(name)) continue;
    const wait = resetOf(first(headers[name]) ?? '', clock);
    if (wait === null) continue;
    earliest = Math.min(earliest ?? wait, wait);
    if (first(headers[name.replace('reset', 'remaining')]) === '0') exhausted = Math.max(exhausted ?? 0, wait);
  }
  return exhausted ?? earliest;
}

/**
 * wire: OpenAI and Groq give a duration, Anthropic an RFC 3339 time (Rate limits, in the
 * documentation of each). A bare number is ignored, because it may be seconds or a date.
 */
function resetOf(text: string, clock: number): number | null {
  const duration = durationOf(text);
  if (duration !== null) return duration;
  const time = text.includes('T') ? timeOf(text) : null;
  return time === null ? null : positive(time - clock);
}
