/** The store goes and comes back while the page is open. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayError } from '../../../../core/errors.ts';
import type { LogReader } from '../../../../core/log-store.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import { aRecord, keeping, memoryLog } from '../../../_kit/log.ts';
import type { MemoryLog } from '../../../_kit/log.ts';
import { browserOptions } from './browser.ts';

const log = memoryLog();
let isAway = false;
const closing: (() => Promise<unknown>)[] = [];
let url = '';

/** The log in memory, as a store that can be away. */
function withAbsence(reader: MemoryLog): MemoryLog {
  const away = new GatewayError('log_unavailable', 'The request log cannot be read now: refused.');
  const unlessAway = <Name extends 'list' | 'get' | 'stats' | 'series' | 'facets' | 'metadataKeys'>(name: Name): LogReader[Name] => (async (...args: never[]) => {
    if (isAway) throw away;
    return await (reader[name] as (...given: never[]) => Promise<unknown>)(...args);
  }) as unknown as LogReader[Name];
  const status = async () => ({ ...(await reader.status()), connected: !isAway, error: isAway ? ('refused' as const) : null, waitingRecords: isAway ? 7 : 0 });
  return Object.assign(Object.create(reader) as MemoryLog, { list: unlessAway('list'), get: unlessAway('get'), stats: unlessAway('stats'), series: unlessAway('series'), facets: unlessAway('facets'), metadataKeys: unlessAway('metadataKeys'), status, onRecord: reader.onRecord.bind(reader) });
}

beforeAll(async () => {
  const config = oneUpstream('http://127.0.0.1:9/v1', { plugins: ['endpoints/health', 'endpoints/logs', 'endpoints/dashboard', 'auth/keys', 'dialects/openai-chat'] });
  const { gateway } = await testGateway({ config, plugins: [keeping(withAbsence(log))] });
  const server = createServer((request, response) => gateway.node(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  });
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test('words say so, the tail goes on, and all is back with the store', async () => {
  const browser = await chromium.launch(browserOptions);
  closing.push(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(9000);
  log.add({ model: 'before-it-went' });
  isAway = true;
  await page.goto(`${url}/dashboard/logs?live=1`);
  await page.getByText('The log store is away (refused)').waitFor();
  await page.getByText('7 records wait in the journal').waitFor();
  await page.getByText('cannot be read now').waitFor();
  await page.locator('.is-live').getByText('Live').waitFor();
  log.announce(aRecord({ model: 'while-it-was-away' }));
  await page.locator('.log-table').getByText('while-it-was-away').waitFor();
  isAway = false;
  // by itself: nobody presses anything
  await page.locator('.log-table').getByText('before-it-went').waitFor();
  expect(await page.getByText('cannot be read now').count()).toBe(0);
});
