/** Records and stores for the tests of the journal. */
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unsetParameters } from '../../../../core/chat.ts';
import type { LogQuery } from '../../../../core/log/store.ts';
import type { Finished } from '../../../../plugins/log/journal/write/entry.ts';
import { rowOf } from '../../../../plugins/log/journal/sql/rows.ts';
import type { Row } from '../../../../plugins/log/journal/sql/rows.ts';
import { createStore } from '../../../../plugins/log/journal/store/open.ts';
import type { Store } from '../../../../plugins/log/journal/store/store.ts';

export const everything: LogQuery = { from: null, to: null, conditions: [], text: null };

export function folder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'gateway-journal-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** An open store, which keeps its records for ever: in SQLite, or in PostgreSQL where an address is given. */
export async function storeIn(dataDir: string, url: string | null = null): Promise<Store> {
  const store = await createStore({ store: url === null ? 'sqlite' : 'postgres', url, dataDir, retentionDays: 0, isDurable: false });
  await store.open();
  return store;
}

/** The file of a descriptor of this process; empty where the descriptor is closed by now, as that of the listing itself. */
function fileOf(descriptor: string): string {
  try {
    return readlinkSync(join('/proc/self/fd', descriptor));
  } catch {
    return '';
  }
}

/** The files below a folder that this process has open, deleted ones too. */
export const openBelow = (path: string): string[] =>
  readdirSync('/proc/self/fd')
    .map(fileOf)
    .filter((file) => file.startsWith(path));

/** The n-th id of a millisecond. */
export function idAt(ms: number, number = 0): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

export const begin = Date.UTC(2026, 5, 1);

export function finished(more: Partial<Finished> & { at?: number; number?: number } = {}): Finished {
  const { at = begin, number = 0, ...fields } = more;
  return {
    id: idAt(at, number),
    clientRequestId: null,
    userAgent: null,
    clientAddress: null,
    createdAt: new Date(at).toISOString(),
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: 'auto',
    model: 'plain',
    provider: 'up',
    key: 'team',
    stream: false,
    status: 200,
    outcome: 'answered',
    finishReason: 'completed',
    nativeFinishReason: 'stop',
    durationMs: 100,
    timeToFirstTokenMs: null,
    tokensPerSecond: null,
    usage: { promptTokens: 10, completionTokens: 5, reasoningTokens: 2, cachedTokens: 0, cacheWriteTokens: null, totalTokens: 15 },
    usageEstimated: false,
    reasoningEstimated: false,
    cost: '0.000123',
    costIsUpperBound: false,
    providerCost: null,
    usageDetails: null,
    prices: { prompt: '0.000001', completion: '0.000002' },
    door: 'chat',
    promptStart: null,
    metadata: {},
    attempts: [
      {
        provider: 'up',
        model: 'plain',
        externalId: 'plain-1',
        outcome: 'answered',
        status: 200,
        startedMs: 5,
        durationMs: 90,
        timeToFirstTokenMs: 20,
        retryAfterMs: null,
        error: null,
      },
    ],
    ruledOut: [],
    adjustments: [],
    error: null,
    configHash: 'hash',
    timings: {},
    fields: {},
    ...fields,
  };
}

/** An attempt that failed, or that was answered. */
export const attempt = (outcome: string, more: Partial<Finished['attempts'][number]> = {}): Finished['attempts'][number] => ({
  provider: 'up',
  model: 'plain',
  externalId: 'plain-1',
  outcome,
  status: outcome === 'answered' ? 200 : 503,
  startedMs: 5,
  durationMs: 90,
  timeToFirstTokenMs: null,
  retryAfterMs: null,
  error: outcome === 'answered' ? null : 'It broke.',
  ...more,
});

export const rowFor = (more: Parameters<typeof finished>[0] = {}): Row =>
  rowOf({ payload: JSON.stringify(finished(more)), isInterrupted: false });

/** A request and an answer as the pipeline has them. */
export const request = (content: string): any => ({
  model: 'plain',
  messages: [{ role: 'user', content }],
  stream: false,
  includeUsage: false,
  reasoning: { effort: 'low', maxTokens: null },
  ...unsetParameters,
  maxTokens: 64,
  rest: { top_k: 4 },
});

export const response = (text: string, reasoning = ''): any => ({
  choices: [{ text, reasoning, refusal: '', details: [], toolCalls: [], extras: [], finish: 'completed', native: 'stop' }],
});
