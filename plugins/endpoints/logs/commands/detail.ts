/** One request of the log, whole, as text for a terminal. */
import { askedBody } from '../../../../core/log/asked.ts';
import type { LoggedDetail } from '../../../../core/log/store.ts';
import { exactDollars } from '../../../../core/money.ts';
import { printable, printableLines } from '../../../../core/table.ts';
import { about, costOf, count, duration, totalOf } from './figures.ts';

export function detailText(record: LoggedDetail): string {
  const { request, response, reasoningContent, attempts, usage, metadata, fields, timings, error, adjustments, ...facts } = record;
  const tokens = (value: number | null): string => about(count(value), record.usageEstimated);
  const rows: [string, string | null][] = [
    ['id', facts.id],
    ['time', facts.createdAt],
    ['path', facts.path === '' ? null : facts.path],
    ['model', `${facts.requestedModel ?? '–'}${facts.model === null ? '' : ` → ${facts.provider}/${facts.model}`}`],
    ['outcome', `${facts.status} ${facts.outcome}${facts.finishReason === null ? '' : `, ${facts.finishReason}`}`],
    ['error', error === null ? null : `${error.code}: ${error.message}`],
    ['key', facts.key],
    ['user agent', facts.userAgent],
    ['address', facts.clientAddress],
    [
      'duration',
      `${totalOf(facts)}${facts.timeToFirstTokenMs === null ? '' : `, first token after ${duration(facts.timeToFirstTokenMs)}`}`,
    ],
    [
      'tokens',
      `${tokens(usage.promptTokens)} in (${tokens(usage.cachedTokens)} cached), ${tokens(usage.completionTokens)} out (${about(count(usage.reasoningTokens), facts.usageEstimated || facts.reasoningEstimated === true)} reasoning)`,
    ],
    [
      'cost',
      `${costOf(facts.cost === null ? '–' : exactDollars(facts.cost), facts)}${facts.providerCost === null ? '' : ` (the provider says ${exactDollars(facts.providerCost)})`}`,
    ],
    ...Object.entries(metadata).map(([name, value]): [string, string] => [`meta.${name}`, value]),
    ...Object.entries(fields).map(([name, value]): [string, string] => [`field.${name}`, String(value)]),
    ...attempts.map(({ provider, outcome, durationMs, providerRequestId: id, error: fault }, at): [string, string] => [
      `attempt ${at + 1}`,
      `${provider} ${outcome} ${duration(durationMs)}${id === undefined ? '' : `, its request id ${id}`}${fault === null ? '' : `: ${fault}`}`,
    ]),
    ...adjustments.map(({ parameter, change }): [string, string] => ['adjusted', `${parameter}: ${change}`]),
    ['plugins', slowest(timings)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${printable(name).padEnd(width)}  ${printable(value ?? '')}\n`);
  return [
    ...lines,
    ...bodyText('request', askedBody(facts.path, request)),
    ...bodyText('reasoning', reasoningContent),
    ...bodyText('response', response),
  ].join('');
}

/** The plugins that took longest, with their time; null where none is known. */
function slowest(timings: LoggedDetail['timings']): string | null {
  const sorted = Object.entries(timings).sort(([, a], [, b]) => b - a);
  return sorted.length === 0
    ? null
    : sorted
        .slice(0, 3)
        .map(([plugin, ms]) => `${plugin} ${ms.toFixed(2)} ms`)
        .join(', ');
}

const bodyText = (title: string, body: unknown): string[] =>
  body === null ? [] : [`\n${title}\n`, `${printableLines(typeof body === 'string' ? body : JSON.stringify(body, null, 2))}\n`];
