/**
 * Writes one line for each request to stdout: text for people on a terminal, JSON for machines. A line has no message text and no
 * key.
 */
import { styleText } from 'node:util';
import type { FromSchema } from 'json-schema-to-ts';
import type { RequestRecord } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { printable, printableJson } from '../../core/table.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    format: {
      enum: ['auto', 'text', 'json'],
      default: 'auto',
      description: 'Form of the lines: `text`, `json`, or `auto` (text on a terminal, else JSON). Example: json.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

/**
 * cost: a write for each line is a system call that waits for the file or
 * the terminal, a twentieth of the CPU of a plain request (test/bench).
 */
const gatherMs = 20;
/** safety: lines that nobody reads from the pipe wait in memory. Without this limit, a log driver that hangs would fill the memory. */
const mostWaitingBytes = 8_388_608;
/** The most characters of the model in a line: a caller may send any text as the model. */
const longestName = 100;

export default definePlugin<Options>({
  name: 'log/console',
  summary: 'one line per request on stdout, JSON when it is not a terminal',
  schema,
  apply({ hooks, logger }, { format }) {
    const isText = format === 'text' || (format === 'auto' && process.stdout.isTTY);
    const line = isText ? textLine : jsonLine;
    let waiting = '';
    let leftOut = 0;
    const flush = (): void => {
      if (waiting !== '') process.stdout.write(waiting);
      waiting = '';
    };
    hooks.log.tap((record) => {
      if (process.stdout.writableLength + waiting.length > mostWaitingBytes) {
        if (leftOut++ === 0) logger.warn('nothing reads stdout, and its buffer is full; lines of requests are left out');
        return;
      }
      if (leftOut > 0) logger.info('stdout is read again', { leftOut });
      leftOut = 0;
      if (waiting === '') setTimeout(flush, gatherMs);
      waiting += `${line(record)}\n`;
    });
    return flush;
  },
});

/** A record as one line of JSON, without the bodies. */
export function jsonLine(record: RequestRecord): string {
  return printableJson(
    JSON.stringify({
      time: record.createdAt,
      level: 'info',
      msg: 'request',
      id: record.id,
      requestedModel: record.requestedModel,
      model: record.model,
      provider: record.provider,
      key: record.key,
      stream: record.stream,
      status: record.status,
      outcome: record.outcome,
      finishReason: record.finishReason,
      durationMs: record.durationMs,
      timeToFirstTokenMs: record.timeToFirstTokenMs,
      usage: record.usage,
      usageEstimated: record.usageEstimated,
      cost: record.cost,
      costIsUpperBound: record.costIsUpperBound,
      metadata: record.metadata,
      attempts: record.attempts.length,
      adjustments: record.adjustments,
      error: record.error,
    }),
  );
}

/**
 * A record as one line of text, for example `14:02:11  200  gpt-5 → openai/gpt-5  1200 ms  (first 400 ms)
 *  120+300 tokens  $0.0031  ID`. Estimated figures have a `≈`, and a cost that is an upper bound a `≤`.
 */
export function textLine(record: RequestRecord): string {
  const {
    createdAt,
    status,
    requestedModel,
    model,
    provider,
    durationMs,
    timeToFirstTokenMs,
    usage,
    usageEstimated,
    cost,
    costIsUpperBound,
    outcome,
    error,
    id,
  } = record;
  const about = usageEstimated ? '≈' : '';
  const colour = outcome === 'answered' ? 'green' : outcome === 'gone' ? 'yellow' : 'red';
  const parts = [
    styleText('dim', createdAt.slice(11, 19)),
    styleText(colour, String(status)),
    `${printable((requestedModel ?? '–').slice(0, longestName))}${provider === null ? '' : ` → ${provider}/${model}`}`,
    `${durationMs} ms`,
    timeToFirstTokenMs === null ? '' : `(first ${timeToFirstTokenMs} ms)`,
    usage.promptTokens === null && usage.completionTokens === null
      ? ''
      : `${about}${usage.promptTokens ?? '?'}+${usage.completionTokens ?? '?'} tokens`,
    cost === null ? '' : `${costIsUpperBound ? '≤' : about}$${cost}`,
    error === null ? '' : styleText('red', `${outcome}: ${printable(error.code)}`),
    styleText('dim', id),
  ];
  return parts.filter((part) => part !== '').join('  ');
}
