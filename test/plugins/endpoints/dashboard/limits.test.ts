/** The limits and budgets on the page Keys, in a browser. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
beforeAll(async () => {
  const limits = [{ by: 'meta.tenant-id', requests_per_minute: 4, budget: { dollars: '20', per: 'month' } }, { by: 'all', concurrent: 10 }];
  scene = await stage(mockConfig({ limits }));
});
afterAll(async () => await scene.close());

test('shows how full each limit is, the fullest first, and how many requests were refused', async () => {
  for (let at = 0; at < 5; at++) await scene.chat('hi', {}, { 'x-gateway-tenant-id': '<b>acme</b>' });
  const page = await scene.open('/dashboard/keys');
  await page.waitForSelector('.cell-bar');
  const rows = await page.$$eval('tbody tr', (found: any[]) => found.map((row) => Array.from(row.querySelectorAll('td'), (cell: any) => String(cell.textContent).trim())));
  expect(rows[0]?.slice(0, 7)).toEqual(['meta.tenant-id', '<b>acme</b>', 'requests a minute', '4', '4', '', '100 %']);
  expect(rows.find(([, , limit]) => limit === 'budget per month')?.[4]).toMatch(/^\$20/);
  expect(await page.textContent('main')).toContain('1 request was refused since the start');
  expect(await page.$eval('.cell-bar i', (bar: any) => bar.style.width)).toBe('100%');
  expect(await violations(page)).toEqual([]);
  expect(scene.complaints.filter((text) => !text.includes('429'))).toEqual([]);
});
