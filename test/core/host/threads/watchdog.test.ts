/** A process whose event loop is blocked, watched from its thread. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'gateway-watchdog-'));
afterAll(() => rmSync(folder, { recursive: true }));

const core = (file: string): string => JSON.stringify(new URL(`../../../../core/host/${file}`, import.meta.url).href);

/** Writes a module, and returns its address. */
function written(name: string, code: string): string {
  const file = join(folder, name);
  writeFileSync(file, code);
  return pathToFileURL(file).href;
}

const log = join(folder, 'log');

/** The process log of a process that runs this code. */
function logOf(code: string): { level: string; msg: string; plugin?: string | null; at?: string[] }[] {
  const main = written('main.mjs', code);
  const script = `exec ${process.execPath} ${new URL(main).pathname} > ${log} 2>&1`;
  execFileSync('sh', ['-c', script], { timeout: 120_000 });
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as ReturnType<typeof logOf>[number]);
}

const spin = written('spin.mjs', 'export function spin(ms) { const end = Date.now() + ms; while (Date.now() < end); }');

/**
 * @param work it may call `spin(ms)`, and `told(words)`: whether the process log has
 * these words @param patienceMs how long the loop must be blocked before it is reported
 */
const watched = (
  work: string,
  places = `new Places('file:///plugins/', [[${JSON.stringify(spin)}, 'mine/spin']])`,
  patienceMs = 600,
): string => `
  import { readFileSync } from 'node:fs';
  import { setTimeout as wait } from 'node:timers/promises';
  import { Places } from ${core('places.ts')};
  import { watchLoop } from ${core('threads/watchdog.ts')};
  import { spin } from ${JSON.stringify(spin)};
  watchLoop(${places}, { patienceMs: ${patienceMs} });
  await wait(700);
  const told = (words) => readFileSync(${JSON.stringify(log)}, 'utf8').includes(words);
  ${work}
  process.exit(0);
`;

test('the watchdog names the plugin that blocks the event loop, and the place in its code', () => {
  // on a busy machine the thread of the watchdog begins late. The thread looks every 300 ms, and sees a blocked loop at its third look
  const [held, over] = logOf(
    watched("while (!told('is blocked')) { spin(1100); await wait(10); } while (!told('runs again')) await wait(100);"),
  );
  expect(held).toMatchObject({
    level: 'error',
    plugin: 'mine/spin',
    msg: 'the event loop is blocked by the plugin mine/spin; no request is served meanwhile',
  });
  expect(held?.at?.[0]).toBe(`spin ${spin}:1`);
  expect(over).toMatchObject({ level: 'info', msg: 'the event loop runs again' });
});

test('the watchdog names the place where code of no plugin blocks the event loop', () => {
  const [held] = logOf(watched("while (!told('is blocked')) { spin(1100); await wait(10); }", "new Places('file:///plugins/')"));
  expect(held).toMatchObject({ plugin: null, msg: 'the event loop is blocked; no request is served meanwhile' });
});

// a loop that the machine does not run for a second is blocked
test('the watchdog does not report short work', { retry: 2 }, () => {
  expect(logOf(watched('for (let at = 0; at < 20; at++) { spin(50); await wait(10); }', undefined, 1000))).toEqual([]);
});
