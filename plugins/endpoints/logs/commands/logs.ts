/** `gateway logs`: a list, one request, or requests as they end. */
import { Exit } from '../../../../core/exit.ts';
import type { Output } from '../../../../core/host/command.ts';
import type { LoggedDetail, LoggedRequest, LogPage } from '../../../../core/log/store.ts';
import { headOf, jsonText, printableJson, rowOf, secondText } from '../../../../core/table.ts';
import { createSseReader } from '../../../../core/wire/sse.ts';
import type { Ask, Connection } from './connection.ts';
import { detailText } from './detail.ts';
import { about, costOf, count, dollars, duration, totalOf } from './figures.ts';
import type { Selection } from './flags.ts';

export async function showLogs(
  { ask, isRunning }: Pick<Connection, 'ask' | 'isRunning'>,
  selection: Selection,
  output: Output,
): Promise<void> {
  if (selection.id !== null) return showOne(ask, { id: selection.id, json: selection.json }, output);
  if (selection.follow && !isRunning) {
    throw new Exit(5, 'There is no running gateway to follow. Start it, or name another one with --host and --port.');
  }
  const line = selection.json ? jsonLine : textLine;
  const begin = (): void => (selection.json ? undefined : output.print(head));
  const show = (record: LoggedRequest): void => output.print(line(record));
  if (selection.follow) return follow(ask, { selection, begin, show }, output);
  const records = await newest(ask, selection);
  begin();
  return records.forEach(show);
}

const largestPage = 1000;

/** The newest requests. The newest one is printed last, so that it is next to the prompt. */
async function newest(ask: Ask, { filter, limit }: Pick<Selection, 'filter' | 'limit'>): Promise<LoggedRequest[]> {
  const records: LoggedRequest[] = [];
  let cursor: string | null = null;
  do {
    const params = new URLSearchParams(filter);
    params.set('limit', String(Math.min(largestPage, limit - records.length)));
    if (cursor !== null) params.set('cursor', cursor);
    const page = (await (await ask(`/api/logs?${params.toString()}`)).json()) as LogPage;
    records.push(...page.data);
    cursor = page.next;
  } while (cursor !== null && records.length < limit);
  return records.toReversed();
}

interface Following {
  readonly selection: Selection;
  /** Called once, before the first record is shown. */
  begin(): void;
  show(record: LoggedRequest): void;
}

const retryMs = 1000;

/** Shows requests as they end. Connects again after a restart of the gateway; ends only with the program. */
async function follow(ask: Ask, { selection, begin, show }: Following, { say }: Output): Promise<never> {
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
      // the tail is opened before the list is read, so that no request is missed between the two
      const response = await ask(
        `/api/logs/stream?${selection.filter.toString()}`,
        lastId === null ? {} : { headers: { 'last-event-id': lastId } },
      );
      isAway = false;
      if (!isListed) {
        const records = await newest(ask, selection);
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
      // the gateway refuses the question itself, and would refuse it again;
      // a store (code 4) or a gateway (code 5) that is away may come back
      if (error instanceof Exit && error.code !== 4 && error.code !== 5) throw error;
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
  { title: 'TIME (UTC)', width: 19, read: ({ createdAt }: LoggedRequest) => secondText(createdAt) },
  { title: 'STATUS', width: 6, isNumber: true, read: ({ status }: LoggedRequest) => String(status) },
  {
    title: 'MODEL → PROVIDER',
    width: 32,
    read: ({ requestedModel, model, provider, attempts }: LoggedRequest) =>
      `${model ?? requestedModel ?? '–'}${provider === null ? '' : ` → ${provider}`}${attempts.length > 1 ? ` (${attempts.length} tries)` : ''}`,
  },
  { title: 'KEY', width: 12, read: ({ key }: LoggedRequest) => key ?? '–' },
  { title: 'FIRST', width: 7, isNumber: true, read: ({ timeToFirstTokenMs }: LoggedRequest) => duration(timeToFirstTokenMs) },
  { title: 'TOTAL', width: 7, isNumber: true, read: totalOf },
  {
    title: 'IN',
    width: 7,
    isNumber: true,
    read: (record: LoggedRequest) => about(count(record.usage.promptTokens), record.usageEstimated),
  },
  {
    title: 'OUT',
    width: 6,
    isNumber: true,
    read: (record: LoggedRequest) => about(count(record.usage.completionTokens), record.usageEstimated),
  },
  {
    title: 'THOUGHT',
    width: 7,
    isNumber: true,
    read: (record: LoggedRequest) =>
      about(count(record.usage.reasoningTokens), record.usageEstimated || record.reasoningEstimated === true),
  },
  { title: 'COST', width: 10, isNumber: true, read: (record: LoggedRequest) => costOf(dollars(record.cost), record) },
  { title: 'ID', width: 36, read: ({ id }: LoggedRequest) => id },
  {
    title: 'OUTCOME',
    width: 0,
    read: ({ outcome, error, finishReason }: LoggedRequest) => (error === null ? (finishReason ?? outcome) : `${outcome}: ${error.code}`),
  },
] as const;

const head = headOf(columns);

const textLine = (record: LoggedRequest): string => rowOf(record, columns);
const jsonLine = (record: LoggedRequest): string => `${printableJson(JSON.stringify(record))}\n`;

async function showOne(ask: Ask, { id, json }: { id: string; json: boolean }, { print }: Output): Promise<void> {
  const record = (await (await ask(`/api/logs/${encodeURIComponent(id)}`)).json()) as LoggedDetail;
  print(json ? printableJson(jsonText(record)) : detailText(record));
}
