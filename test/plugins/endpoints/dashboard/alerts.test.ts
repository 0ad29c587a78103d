/** Alerts on the Overview, in a browser. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
beforeAll(async () => {
  scene = await stage(mockConfig({ alerts: { rules: [{ errors_percent: 10, min_requests: 2 }, { name: 'tenant burns money', cost_dollars: '0.000001', by: 'meta.team' }, { latency_p95_ms: 600_000 }] } }));
  for (const content of ['Hello', '[[status:500]]', '[[status:500]]']) await scene.chat(content, {}, { 'x-gateway-team': '<b>red</b>' });
  await scene.stored(3);
});
afterAll(async () => await scene.close());

test('stand there with since when, lead to their requests, and turn their figures red', async () => {
  const page = await scene.open('/dashboard');
  const alerts = page.getByRole('region', { name: 'Alerts' });
  await alerts.getByText('errors above 10 %').waitFor();
  expect((await alerts.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([expect.stringMatching(/^errors above 10 % 66\.7 % of 3 requests failed in 5 min since /), expect.stringMatching(/^tenant burns money meta\.team <b>red<\/b> \$\d.* for 3 requests in 5 min since /)]);
  expect(await page.locator('.metric-alert dt').allInnerTexts()).toEqual([expect.stringMatching(/^Errors/), expect.stringMatching(/^Cost/)]);
  expect(await violations(page)).toEqual([]);
  await alerts.getByText('errors above 10 %').click();
  await page.waitForURL((url) => url.pathname === '/dashboard/logs' && url.searchParams.get('status') === 'error');
  expect(scene.complaints).toEqual([]);
  await page.close();
});
