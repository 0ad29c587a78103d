/** `durability: strict`: no answer without a record on the disk. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pathOf } from '../../../../plugins/log/journal/write/segments.ts';
import { oneUpstream, quietPlugins, readEvents, testGateway, twoUpstreams } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { mountSmallDisk } from '../../../_kit/small-disk.ts';
import type { SmallDisk } from '../../../_kit/small-disk.ts';
import { completion, said, startUpstream, streams, answers } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf } from '../../../core/scene.ts';
import { folder } from './scene.ts';

let place: ReturnType<typeof folder>;
let disk: string;
let small: SmallDisk;
let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeEach(async () => {
  place = folder();
  disk = join(place.path, 'disk');
  mkdirSync(disk);
  small = mountSmallDisk(disk, '4m');
  upstream = await startUpstream(answers(completion('hello')));
  gateway = await testGateway({
    config: oneUpstream(upstream.url, {
      server: { data_dir: disk },
      plugins: [...quietPlugins, { use: 'log/journal', with: { durability: 'strict' } }],
    }),
  });
});

afterEach(async () => {
  await gateway.close();
  await upstream.close();
  small.unmount();
  place.remove();
});

const unlogged = {
  code: 'log_unavailable',
  message: 'The request log cannot be written now, and this gateway answers only requests that are on record.',
};

/** The kernel takes what is written to /dev/null, and refuses to sync it. */
function breakJournal(): void {
  const root = join(disk, 'journal');
  const [instance] = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const segment = pathOf(join(root, instance?.name ?? ''), 1);
  rmSync(segment, { force: true });
  symlinkSync('/dev/null', segment);
}

/** Answers as the step does, when the disk has no room any more. */
const onceFull =
  (step: Step): Step =>
  (response, asked) => {
    fillDisk();
    return step(response, asked);
  };

/** Takes all room that the disk has. */
function fillDisk(): void {
  for (let bytes = 4_194_304; bytes >= 1; bytes >>= 1) {
    try {
      writeFileSync(join(disk, `filler-${bytes}`), Buffer.alloc(bytes));
    } catch {
      // this much is no longer free
    }
  }
}

test('a strict gateway answers while the journal can be written', async () => {
  expect((await gateway.chat({})).status).toBe(200);
});

test('a strict gateway asks no provider where the start of the request cannot be written', async () => {
  breakJournal();
  const response = await gateway.chat({});
  expect([response.status, response.headers.get('retry-after'), await errorOf(response)]).toMatchObject([503, '1', unlogged]);
  expect(upstream.asked).toHaveLength(0);
});

/**
 * All threads that Node has for files wait for a pipe that nobody writes,
 * as they wait for a disk that hangs. Returns the function that ends this.
 */
function hangFiles(): () => Promise<void> {
  const pipe = join(place.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const waiting = Array.from({ length: 8 }, () => open(pipe, 'r'));
  return async () => {
    const end = openSync(pipe, constants.O_RDWR);
    for (const opened of await Promise.all(waiting)) await opened.close();
    closeSync(end);
  };
}

test('a strict gateway asks no provider, not even as a hedge, while the start of the request waits for the disk', async () => {
  const second = await startUpstream(answers(completion('hello')));
  const hedging = await testGateway({
    config: twoUpstreams(upstream.url, second.url, {
      server: { data_dir: join(place.path, 'hedging') },
      routing: { default: { strategy: 'ordered', hedge_ms: 20 } },
      plugins: [...quietPlugins, { use: 'log/journal', with: { durability: 'strict' } }],
    }),
  });
  const release = hangFiles();
  const response = await hedging.chat({});
  await release();
  expect([response.status, await errorOf(response)]).toMatchObject([503, unlogged]);
  expect([...upstream.asked, ...second.asked]).toHaveLength(0);
  await hedging.close();
  await second.close();
});

test('a strict gateway gives no answer whose record cannot be written', async () => {
  upstream.script(onceFull(answers(completion('x'.repeat(50_000)))));
  const response = await gateway.chat({});
  expect([response.status, await errorOf(response)]).toMatchObject([503, unlogged]);
});

test('a strict gateway ends a stream with an error if its record cannot be written', async () => {
  upstream.script(onceFull(streams(said('x'.repeat(50_000)))));
  const { events, done } = await readEvents(await gateway.chat({ stream: true }));
  expect([events.at(-1), done]).toMatchObject([{ error: unlogged }, false]);
});

test('a strict gateway answers again when the disk has room', async () => {
  upstream.script(onceFull(answers(completion('x'.repeat(50_000)))), answers(completion('short')));
  expect((await gateway.chat({})).status).toBe(503);
  for (const name of readdirSync(disk).filter((file) => file.startsWith('filler'))) rmSync(join(disk, name));
  await expect.poll(async () => (await gateway.chat({})).status).toBe(200);
});

test('a strict gateway says in GET / that it cannot keep records', async () => {
  breakJournal();
  await gateway.chat({});
  expect(await (await gateway.get('/')).json()).toMatchObject({
    health: { status: 'degraded', database: { connected: false, error: 'journal_not_written' } },
  });
});
