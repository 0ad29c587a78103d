/** `gateway logs`: a list, one request, or requests as they end. */
import type { LogFlags } from '../command-line.ts';
import { Exit } from '../exit.ts';
import type { LoggedDetail, LoggedRequest, LogPage } from '../../log/store.ts';
import { createSseReader } from '../../wire/sse.ts';
import type { Ask, Connection } from './connection.ts';
import { about, count, dollars, duration, printable, rowOf } from './table.ts';

export type Print = (text: string) => void;

export interface Output {
  readonly print: Print;
  /** For what is not a result. */
  readonly say: Print;
}

export async function showLogs({ ask, url }: Connection, flags: LogFlags, output: Output): Promise<void> {
  if (flags.id !== null) return showOne(ask, { id: flags.id, json: flags.json }, output);
  if (flags.follow && url === null) throw new Exit(1, 'No gateway answers that could be followed. Start it, or name its --host and --port.');
  const line = flags.json ? jsonLine : textLine;
  const begin = (): void => (flags.json ? undefined : output.print(head));
  const show = (record: LoggedRequest): void => output.print(line(record));
  if (flags.follow) return follow(ask, { flags, begin, show }, output);
  const records = await newest(ask, flags);
  begin();
  return records.forEach(show);
}

const largestPage = 1000;

/** The newest, with the newest last: next to where one reads on. */
async function newest(ask: Ask, { filter, limit }: Pick<LogFlags, 'filter' | 'limit'>): Promise<LoggedRequest[]> {
  const records: LoggedRequest[] = [];
  let cursor: string | null = null;
  do {
    const params = new URLSearchParams([...filter, ['limit', String(Math.min(largestPage, limit - records.length))], ...(cursor === null ? [] : [['cursor', cursor] as [string, string]])]);
    const page = (await (await ask(`/api/logs?${params.toString()}`)).json()) as LogPage;
    records.push(...page.data);
    cursor = page.next;
  } while (cursor !== null && records.length < limit);
  return records.toReversed();
}

interface Following {
  readonly flags: LogFlags;
  /** Called once, before anything is shown. */
  begin(): void;
  show(record: LoggedRequest): void;
}

const retryMs = 1000;

/** Goes on over restarts of the gateway; ends with the program. */
async function follow(ask: Ask, { flags, begin, show }: Following, { say }: Output): Promise<never> {
  const seen = new Set<string>();
  const once = (record: LoggedRequest): void => {
    if (seen.has(record.id)) return;
    seen.add(record.id);
    if (seen.size > 2 * largestPage) seen.delete(seen.values().next().value as string);
    show(record);
  };
  let lastId: string | null = null;
  let isListed = false;
  let isAway = false;
  for (;;) {
    try {
      // before the list is asked for, so that nothing falls between the two
      const response = await ask(`/api/logs/stream?${flags.filter.toString()}`, lastId === null ? {} : { headers: { 'last-event-id': lastId } });
      isAway = false;
      if (!isListed) {
        const records = await newest(ask, flags);
        begin();
        records.forEach(once);
      }
      isListed = true;
      for await (const event of eventsOf(response)) {
        if (event.name === 'request') {
          lastId = event.id;
          once(JSON.parse(event.data) as LoggedRequest);
        } else say(`${(JSON.parse(event.data) as { message: string }).message}\n`);
      }
    } catch (error) {
      // what was asked is wrong, and will be so the next time
      if (error instanceof Exit && error.code !== 4) throw error;
      if (!isAway) say('The gateway does not answer; trying again.\n');
      isAway = true;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

interface TailEvent {
  readonly name: string | undefined;
  readonly id: string | null;
  readonly data: string;
}

const largestEvent = 16 * 1024 * 1024;

async function* eventsOf(response: Response): AsyncGenerator<TailEvent> {
  const reader = createSseReader({ maxEventBytes: largestEvent });
  for await (const bytes of response.body ?? []) {
    for (const event of reader.push(bytes)) {
      const { event: name, id, data } = event as { event?: string; id?: string; data: string };
      yield { name, id: id ?? null, data };
    }
  }
}

const columns = [
  { title: 'TIME (UTC)', width: 19, read: ({ createdAt }: LoggedRequest) => createdAt.slice(0, 19).replace('T', ' ') },
  { title: 'STATUS', width: 6, isNumber: true, read: ({ status }: LoggedRequest) => String(status) },
  { title: 'MODEL → PROVIDER', width: 32, read: ({ requestedModel, model, provider, attempts }: LoggedRequest) => `${model ?? requestedModel ?? '–'}${provider === null ? '' : ` → ${provider}`}${attempts.length > 1 ? ` (${attempts.length} tries)` : ''}` },
  { title: 'KEY', width: 12, read: ({ key }: LoggedRequest) => key ?? '–' },
  { title: 'FIRST', width: 7, isNumber: true, read: ({ timeToFirstTokenMs }: LoggedRequest) => duration(timeToFirstTokenMs) },
  { title: 'TOTAL', width: 7, isNumber: true, read: ({ durationMs }: LoggedRequest) => duration(durationMs) },
  { title: 'IN', width: 7, isNumber: true, read: (record: LoggedRequest) => about(count(record.usage.promptTokens), record.usageEstimated) },
  { title: 'OUT', width: 6, isNumber: true, read: (record: LoggedRequest) => about(count(record.usage.completionTokens), record.usageEstimated) },
  { title: 'THOUGHT', width: 7, isNumber: true, read: (record: LoggedRequest) => about(count(record.usage.reasoningTokens), record.usageEstimated) },
  { title: 'COST', width: 10, isNumber: true, read: (record: LoggedRequest) => about(dollars(record.cost), record.usageEstimated) },
  { title: 'ID', width: 36, read: ({ id }: LoggedRequest) => id },
  { title: 'OUTCOME', width: 0, read: ({ outcome, error, finishReason }: LoggedRequest) => (error === null ? (finishReason ?? outcome) : `${outcome}: ${error.code}`) },
] as const;

const head = `${columns.map(({ title, width, ...column }) => ('isNumber' in column ? title.padStart(width) : title.padEnd(width))).join('  ')}\n`;

const textLine = (record: LoggedRequest): string => rowOf(record, columns);
const jsonLine = (record: LoggedRequest): string => `${JSON.stringify(record)}\n`;

async function showOne(ask: Ask, { id, json }: { id: string; json: boolean }, { print }: Output): Promise<void> {
  const record = (await (await ask(`/api/logs/${encodeURIComponent(id)}`)).json()) as LoggedDetail;
  print(json ? `${JSON.stringify(record, null, 2)}\n` : detailText(record));
}

function detailText(record: LoggedDetail): string {
  const { request, response, reasoningContent, attempts, usage, metadata, error, adjustments, ...facts } = record;
  const tokens = (value: number | null): string => about(count(value), record.usageEstimated);
  const rows: [string, string | null][] = [
    ['id', facts.id],
    ['time', facts.createdAt],
    ['model', `${facts.requestedModel ?? '–'}${facts.model === null ? '' : ` → ${facts.provider}/${facts.model}`}`],
    ['outcome', `${facts.status} ${facts.outcome}${facts.finishReason === null ? '' : `, ${facts.finishReason}`}`],
    ['error', error === null ? null : `${error.code}: ${error.message}`],
    ['key', facts.key],
    ['user agent', facts.userAgent],
    ['duration', `${duration(facts.durationMs)}${facts.timeToFirstTokenMs === null ? '' : `, first token after ${duration(facts.timeToFirstTokenMs)}`}`],
    ['tokens', `${tokens(usage.promptTokens)} in (${tokens(usage.cachedTokens)} cached), ${tokens(usage.completionTokens)} out (${tokens(usage.reasoningTokens)} reasoning)`],
    ['cost', about(facts.cost === null ? '–' : `$${facts.cost}`, facts.usageEstimated)],
    ...Object.entries(metadata).map(([name, value]): [string, string] => [`meta.${name}`, value]),
    ...attempts.map(({ provider, outcome, durationMs, error: fault }, at): [string, string] => [`attempt ${at + 1}`, `${provider} ${outcome} ${duration(durationMs)}${fault === null ? '' : `: ${fault}`}`]),
    ...adjustments.map(({ parameter, change }): [string, string] => ['adjusted', `${parameter}: ${change}`]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.filter(([, value]) => value !== null).map(([name, value]) => `${printable(name).padEnd(width)}  ${printable(value ?? '')}\n`);
  return [...lines, ...bodyText('request', request), ...bodyText('reasoning', reasoningContent), ...bodyText('response', response)].join('');
}

const bodyText = (title: string, body: unknown): string[] =>
  body === null ? [] : [`\n${title}\n`, `${(typeof body === 'string' ? body : JSON.stringify(body, null, 2)).split('\n').map(printable).join('\n')}\n`];
