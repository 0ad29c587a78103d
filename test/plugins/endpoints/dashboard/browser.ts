/** A browser with a real gateway: the executable, the mock provider, the default store. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { start } from '../../../_kit/executable.ts';
import type { Running } from '../../../_kit/executable.ts';
import { ensureBrowser } from '../../../_kit/servers.ts';
import { pause } from '../../../_kit/upstream.ts';

const prices = { prompt: '0.000001', completion: '0.000002' };
const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };

export const mockConfig = (more: object = {}): object => ({
  providers: {
    mock: { dialect: 'mock' },
    'mock-b': { dialect: 'mock' },
    elsewhere: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: '${NOT_SET_ANYWHERE}' },
  },
  models: [
    {
      id: 'mock',
      name: 'Mock',
      pricing: prices,
      providers: ['mock', 'mock-b'].map((providerId) => ({ providerId, externalId: 'mock', ...able, reasoning: true })),
    },
    { id: 'unpriced', pricing: { completion: '0.000002' }, providers: [{ providerId: 'mock', externalId: 'unpriced', ...able }] },
    { id: 'far', pricing: prices, providers: [{ providerId: 'elsewhere', externalId: 'far', ...able }] },
  ],
  routing: { default: { strategy: 'ordered', retry: { same_target: 0 } }, models: { auto: { candidates: ['mock'], strategy: 'ordered' } } },
  ...more,
});

/** Debian's chromium, without requests to other machines. Each page waits as long as the polls of `vitest.config.ts`. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: ensureBrowser(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--process-per-site',
      '--renderer-process-limit=1',
    ],
  });
  browser.on('context', (context) => context.setDefaultTimeout(90_000));
  return browser;
}

const load = async (page: Page, address: string): Promise<unknown> => await page.goto(address, { waitUntil: 'commit' });

/** Shows an address of the dashboard: an empty page loads it, and any other page follows a link to it. */
export async function visit(page: Page, address: string): Promise<void> {
  // cost: a link takes a third of the CPU of a load, and a fifth where the
  // test has routes, because then a load uses no file of an earlier load
  const isThere = page.url().startsWith(new URL('/dashboard', address).href) && (await page.evaluate<boolean>(follow(address)));
  if (!isThere) await load(page, address);
}

/**
 * Clicks on a link to this address. A link to a page that does not exist comes first: then nothing of the present page is seen at the new
 * address, and no part of it goes on. Returns false where the document is not drawn yet: no part of it would follow the link.
 */
const follow = (address: string): string => `(async () => {
  if (document.querySelector('#app > *') === null) return false;
  const click = (href) => {
    const link = Object.assign(document.createElement('a'), { href });
    document.body.append(link);
    link.click();
    link.remove();
  };
  const isNowhere = () => Array.from(document.querySelectorAll('main > .notice strong')).some(({ textContent }) => textContent === 'There is no such page');
  click('/dashboard/nowhere');
  while (!isNowhere()) await new Promise((resolve) => setTimeout(resolve));
  document.activeElement.blur();
  click(${JSON.stringify(address)});
  return true;
})()`;

interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
}

export interface Stage {
  readonly gateway: Running;
  readonly browser: Browser;
  /** The errors of the browser: of scripts, of the content security policy, of requests. */
  readonly complaints: string[];
  /** An empty page. */
  page(look?: Look): Promise<Page>;
  /** A page that loads this address. */
  load(path: string, look?: Look): Promise<Page>;
  /**
   * A page with this address: an empty page loads it, and the page of an earlier test follows
   * a link to it. What that page keeps in memory stays, such as the form of the playground.
   */
  open(path: string, look?: Look): Promise<Page>;
  /** Shows this address in a page, like `open`. */
  visit(page: Page, path: string): Promise<void>;
  /**
   * Returns a page for a later test, without the routes of this test. A
   * test removes its other changes of the page first, or closes the page.
   */
  leave(page: Page): Promise<void>;
  /** Requests a completion, and returns its id. */
  chat(content: string, more?: object, headers?: Record<string, string>): Promise<string>;
  stored(count: number): Promise<void>;
  close(): Promise<void>;
}

/** @param shared an open browser, which stays open */
export async function stage(config: object = mockConfig(), shared?: Browser): Promise<Stage> {
  const [gateway, browser] = await Promise.all([start(config), shared ?? launchBrowser()]);
  // cost: pages of one context share their loaded files
  const context = await browser.newContext({ acceptDownloads: true });
  const complaints: string[] = [];
  let left: Page | null = null;
  const made = async (): Promise<Page> => {
    const page = await context.newPage();
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    return page;
  };
  const page: Stage['page'] = async ({ colorScheme = 'light', width = 1360 } = {}) => {
    // cost: an open page loads an address with half of the CPU of a new page
    const kept = left;
    left = null;
    const taken = kept ?? (await made());
    // a page in the background draws nothing
    await taken.bringToFront();
    await taken.setViewportSize({ width, height: 860 });
    await taken.emulateMedia({ media: null, colorScheme, reducedMotion: 'reduce' });
    return taken;
  };
  return {
    gateway,
    browser,
    complaints,
    page,
    visit: async (given, path) => await visit(given, gateway.url + path),
    async load(path, look) {
      const loaded = await page(look);
      await load(loaded, gateway.url + path);
      return loaded;
    },
    async open(path, look) {
      const opened = await page(look);
      await visit(opened, gateway.url + path);
      return opened;
    },
    async leave(given) {
      if (left !== null) return await given.close();
      await given.unrouteAll({ behavior: 'ignoreErrors' });
      // the mouse points at nothing of the next address
      await given.mouse.move(-1, -1);
      left = given;
    },
    async chat(content, more = {}, headers = {}) {
      const body = JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], ...more });
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      await response.text();
      return response.headers.get('x-request-id') as string;
    },
    async stored(count) {
      for (;;) {
        const { data } = (await (await fetch(`${gateway.url}/api/stats`)).json()) as { data: { requests: number }[] };
        if ((data[0]?.requests ?? 0) >= count) return;
        await pause(25);
      }
    },
    async close() {
      await (shared === undefined ? browser.close() : context.close());
      await gateway.stop();
    },
  };
}

export interface Held {
  /** How many answers were asked for. */
  asked: number;
  /** Sends the answers. */
  readonly release: () => void;
}

/** Answers of these addresses wait. */
export async function hold(page: Page, address: string): Promise<Held> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held: Held = { asked: 0, release: resolve };
  await page.route(address, async (route) => {
    held.asked++;
    await promise;
    // the page may have cancelled it
    await route.continue().catch(() => {});
  });
  return held;
}

/**
 * Presses `g` and the letter of a page. The two keys count together for a second and a
 * half, and the machine may stand still between them: then both are pressed again.
 */
export async function goTo(page: Page, letter: string, path: string): Promise<void> {
  const isThere = async (): Promise<boolean> => (await page.evaluate('location.pathname')) === path;
  while (!(await isThere())) {
    await page.keyboard.press('g');
    await page.keyboard.press(letter);
  }
}

/** Waits for the list of models, before which the playground sends nothing, and a key that would send is lost. */
export const maySend = async (page: Page): Promise<void> =>
  await page.getByRole('button', { name: 'Send', exact: true, disabled: false }).waitFor();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The violations of WCAG 2.2 AA that axe-core finds, one line each. @param what the rules to check; all by default */
export async function violations(page: Page, what = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']"): Promise<string[]> {
  // through the debugger, because the content security policy of the page blocks scripts
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe);
  const found = await page.evaluate<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>(
    `axe.run({ runOnly: ${what}, resultTypes: ["violations"] })`,
  );
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`),
  );
}
