/** Resolves `alerts`. The address of the webhook stays a secret, because anybody who knows it can post there. */
import type { Alerts, AlertRule } from '../../core/limits.ts';
import { exactDollars } from '../../core/money.ts';
import { Secret } from '../../core/secret.ts';
import { isFields, listOf } from '../../core/wire/fields.ts';
import type { AlertRuleBlock, AlertsBlock } from '../../schemas/alerts.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';

const percentile = 5;
const fewest = { requests: 20, attempts: 3 };

type Made = Pick<AlertRule, 'watches' | 'above' | 'least' | 'name'> & Partial<Pick<AlertRule, 'slowMs'>>;

/** What a rule watches: the fields that its entry may have, and how each becomes a rule. */
const kinds: Readonly<Record<'errors_percent' | 'latency_p95_ms' | 'cost_dollars' | 'provider_down', (block: AlertRuleBlock) => Made>> = {
  errors_percent: ({ errors_percent: above = 0, min_requests: least = fewest.requests }) => ({
    watches: 'errors',
    above,
    least,
    name: `errors above ${above} %`,
  }),
  latency_p95_ms: ({ latency_p95_ms: ms = 0, min_requests: least = fewest.requests }) => ({
    watches: 'latency',
    above: percentile,
    slowMs: ms,
    least,
    name: `latency p95 above ${ms} ms`,
  }),
  cost_dollars: ({ cost_dollars: dollars = '0' }) => ({
    watches: 'cost',
    above: Number(dollars),
    least: 1,
    name: `cost above ${exactDollars(dollars)}`,
  }),
  provider_down: ({ min_requests: least = fewest.attempts }) => ({ watches: 'provider', above: 0, least, name: 'provider down' }),
};

/** Resolves the parts of the block that have passed the schema. Null: there is no block. */
export function resolveAlerts(main: Reading, findings: Findings): Alerts | null {
  const block = main.value['alerts'] as AlertsBlock | undefined;
  if (!isFields(block)) return null;
  const isSound = (...path: (string | number)[]): boolean => findings.isSound(place(...path));
  const place = (...path: (string | number)[]): Place => ({ source: main.source, path: ['alerts', ...path] });
  const webhook = isSound('webhook') ? (block.webhook?.trim() ?? '') : '';
  // safety: the message does not quote the address
  if (webhook !== '' && !/^https?:$/.test(URL.parse(webhook)?.protocol ?? '')) {
    findings.error(place('webhook'), 'is not an http or https address', 'for example https://hooks.slack.com/services/…');
  }
  return {
    webhook: webhook === '' ? null : new Secret(webhook),
    rules: listOf(block.rules).flatMap((rule, index) =>
      isSound('rules', index) ? (ruleOf(rule as AlertRuleBlock, place('rules', index), findings) ?? []) : [],
    ),
  };
}

function ruleOf(block: AlertRuleBlock, place: Place, findings: Findings): AlertRule | null {
  const [named, ...more] = Object.keys(kinds).filter((kind) => kind in block) as (keyof typeof kinds)[];
  if (named === undefined || more.length > 0) {
    findings.error(
      place,
      named === undefined ? 'watches nothing' : `watches ${[named, ...more].join(' and ')}`,
      'write one of errors_percent, latency_p95_ms, cost_dollars and provider_down; write a second rule to watch a second thing',
    );
    return null;
  }
  const kind = kinds[named](block);
  const by = kind.watches === 'provider' ? 'provider' : block.by;
  if (block.match !== undefined && by === 'all') {
    findings.error(
      { ...place, path: [...place.path, 'match'], at: 'key' },
      'the rule counts all requests, so there is no value to match',
      'write `by: key` for example, or leave `match` out',
    );
  }
  return { slowMs: null, ...kind, name: block.name ?? kind.name, windowMs: block.window_minutes * 60_000, by, match: block.match ?? null };
}
