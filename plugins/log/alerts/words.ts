/** The texts of an alert. */
import type { AlertRule } from '../../../core/limits.ts';
import { shortDollars } from '../../../core/money.ts';
import { minuteText } from '../../../core/table.ts';
import type { Sum } from './sums.ts';

/** An alert that is active. */
export interface Standing {
  readonly rule: AlertRule;
  readonly value: string;
  readonly since: number;
  /** What the sums showed last. */
  facts: string;
}

const percent = (part: number, all: number): string => `${Number(((100 * part) / all).toPrecision(3))} %`;
function spanText(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`;
}
const requestsOf = (many: number): string => `${many} ${many === 1 ? 'request' : 'requests'}`;

/** The sums in words, for example `12 % of 240 requests failed in 5 min`. */
export function factsOf({ watches, slowMs, windowMs }: AlertRule, { requests, bad, dollars }: Sum): string {
  const within = ` in ${spanText(windowMs)}`;
  if (watches === 'cost') return `${shortDollars(dollars)} for ${requestsOf(requests)}${within}`;
  if (watches === 'provider') {
    return bad === requests
      ? `${requests} of ${requests} attempts failed${within}`
      : `${requests - bad} of ${requests} attempts answered${within}`;
  }
  if (requests === 0) return `no request${within}`;
  return `${percent(bad, requests)} of ${requestsOf(requests)} ${watches === 'errors' ? 'failed' : `took longer than ${slowMs} ms`}${within}`;
}

/** The value that an alert is about; empty where it is about all requests. */
export const subjectOf = ({ by, watches }: AlertRule, value: string): string =>
  by === 'all' ? '' : watches === 'provider' ? value : `${by} ${value}`;

/**
 * wire: Slack reads &, < and > as markup, such as <!channel> (docs.slack.dev, Formatting message text). Mattermost reads @channel and
 * Markdown (developers.mattermost.com, Incoming webhooks), Discord @everyone: a zero-width space breaks such a mark and is invisible.
 * All of them turn an address into a link.
 */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b')
    .replaceAll('](', ']\u200b(')
    .replaceAll('://', ':\u200b//')
    .replaceAll(/www\./gi, (www) => `${www.slice(0, -1)}\u200b.`);

/** The message when an alert begins, and when it is over. @param until when it ended; null: it begins */
export function messageOf({ rule, value, facts, since }: Standing, until: number | null): string {
  const subject = subjectOf(rule, value);
  const name = `${rule.name}${subject === '' ? '' : ` (${subject})`}`;
  return escaped(
    until === null
      ? `Alert: ${name}. ${facts}, since ${minuteText(new Date(since).toISOString())} UTC.`
      : `Ended: ${name}. ${facts}. It lasted ${spanText(until - since)}.`,
  );
}
