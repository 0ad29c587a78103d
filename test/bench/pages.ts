/**
 * The dashboard with a million records: the time until a page can be used, in a real browser. `RECORDS=100000`
 * makes the run shorter, `STORES=sqlite` leaves PostgreSQL out.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { createStore } from '../../plugins/log/journal/store/open.ts';
import { start } from '../_kit/executable.ts';
import { startPostgres } from '../_kit/servers.ts';
import type { PostgresServer } from '../_kit/servers.ts';
import { launchBrowser, mockConfig } from '../plugins/endpoints/dashboard/browser.ts';
import { median, milliseconds } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { fill, records, stores } from './fill.ts';
import { wait, workFolder } from './processes.ts';

const most = 1000;
const mostPatience = 20_000;
const rounds = 3;

const pages: readonly (readonly [path: string, ready: string])[] = [
  ['', '.metrics'],
  ['?since=30d', '.metrics'],
  ['/logs', '.log-table tbody tr'],
  ['/logs?since=30d', '.log-table tbody tr'],
  ['/logs?since=30d&status=error', '.log-table tbody tr'],
  ['/logs?since=30d&meta.tenant-id=tenant-0', '.log-table tbody tr'],
  ['/logs?since=30d&model=model-3&status=error', '.log-table tbody tr'],
  ['/logs?since=30d&latency=>1s', '.log-table tbody tr'],
  ['/logs/ID', '.conversation'],
  ['/breakdown?since=30d', '.breakdown tbody tr'],
  ['/breakdown?since=30d&by=meta.tenant-id&view=time', '.breakdown tbody tr'],
  ['/breakdown?since=24h&by=meta.user-id', '.breakdown tbody tr'],
  ['/models?show=all', 'tbody tr'],
  ['/providers', 'tbody tr'],
  ['/keys', 'main .notice, tbody tr'],
  ['/playground', '.playground'],
  ['/connect', '.connect'],
  ['/config', '.plugins'],
];

/** The page whose sums come after the rows: its filter reads every record. */
const later = ['/logs?since=30d&latency=>1s', '.totals'] as const;

/** A script in the page looks for the element at each change, and notes the time of the frame that shows it. */
const watchFor = (ready: string): string => `{
  const watch = new MutationObserver(() => {
    if (document.querySelector(${JSON.stringify(ready)}) === null) return;
    watch.disconnect();
    requestAnimationFrame(() => (window.readyMs = performance.now()));
  });
  watch.observe(document, { childList: true, subtree: true });
}`;

/** Milliseconds from the navigation to the page with its numbers. */
async function timeOf(context: BrowserContext, url: string, ready: string): Promise<number> {
  const page = await context.newPage();
  await page.addInitScript(watchFor(ready));
  await page.goto(url, { waitUntil: 'commit' });
  for (const started = performance.now(); performance.now() - started < mostPatience; await wait(50)) {
    const took = await page.evaluate<number | undefined>('window.readyMs');
    if (took === undefined) continue;
    await page.close();
    return took;
  }
  throw new Error(`${url} does not show ${ready}`);
}

const told = (times: readonly number[]): string => `${milliseconds(median(times))} (most ${milliseconds(Math.max(...times))})`;

export async function measurePages(what: string, config: object, browser: Browser): Promise<Figure[]> {
  const gateway = await start(config);
  const figures: Figure[] = [];
  try {
    const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
    const emptyCache = await timeOf(context, `${gateway.url}/dashboard`, '.metrics');
    figures.push({
      what: `${what}: the first page of all, nothing cached`,
      gateway: milliseconds(emptyCache),
      target: `≤ ${most} ms`,
      isMet: emptyCache <= most,
    });
    const { data } = (await (await fetch(`${gateway.url}/api/logs?limit=1&status=200`)).json()) as { data: [{ id: string }] };
    const timesOf = async ([path, ready]: readonly [string, string]): Promise<number[]> => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        times.push(await timeOf(context, `${gateway.url}/dashboard${path.replace('ID', data[0].id)}`, ready));
      }
      return times;
    };
    for (const page of pages) {
      const times = await timesOf(page);
      figures.push({ what: `${what}: /dashboard${page[0]}`, gateway: told(times), target: `≤ ${most} ms`, isMet: median(times) <= most });
    }
    figures.push({ what: `${what}: /dashboard${later[0]}, its sums`, gateway: told(await timesOf(later)) });
  } finally {
    await gateway.stop();
  }
  return figures;
}

export const configOf = (kind: string, url: string | null, dataDir: string): object =>
  mockConfig({
    server: { data_dir: dataDir },
    plugins: [
      'endpoints/chat-completions',
      'endpoints/models',
      'endpoints/health',
      'endpoints/logs',
      'endpoints/dashboard',
      'route/policy',
      'stream/upstream',
      'stream/mock',
      'log/cost',
      { use: 'log/journal', with: { store: kind, retention_days: 0, ...(url !== null && { url }) } },
      'dialects/openai-chat',
    ],
  });

async function measure(kind: 'sqlite' | 'postgres', browser: Browser, server: PostgresServer | null): Promise<Figure[]> {
  const url = server?.database() ?? null;
  const dataDir = join(workFolder, `pages-${kind}`);
  mkdirSync(dataDir);
  const store = await createStore({ store: kind, url, dataDir, retentionDays: 0, isDurable: false });
  await store.open();
  await fill(store, dataDir);
  const started = performance.now();
  while (await store.roll());
  const rolled: Figure = { what: `${kind}: summing it all up, once`, gateway: `${Math.round((performance.now() - started) / 1000)} s` };
  await store.close();
  const figures = await measurePages(kind, configOf(kind, url, dataDir), browser);
  rmSync(dataDir, { recursive: true });
  return [rolled, ...figures];
}

export default {
  name: 'pages',
  about: `each page of the dashboard on ${records} records of 30 days, from the address to its numbers in chromium; median of ${rounds} and the slowest`,
  async measure() {
    const browser = await launchBrowser();
    const figures: Figure[] = [];
    for (const kind of stores) {
      const server = kind === 'postgres' ? await startPostgres() : null;
      figures.push(...(await measure(kind, browser, server)));
      await server?.stop();
    }
    await browser.close();
    return figures;
  },
} satisfies Subject;
