/** The process as users start it: from npm, or with a pipe whose reader has ended. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { mockConfig, start } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const mock = {
  // cost: a start with all plugins takes twice the CPU
  plugins: ['endpoints/chat-completions', 'endpoints/health', 'auth/keys', 'stream/mock'],
  ...mockConfig({ prompt: '0', completion: '0' }),
};

const ask = (url: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] }),
  });

describe.concurrent('a gateway', () => {
  test('keeps serving when the reader of its output has ended', async ({ expect }) => {
    const gateway = await start(mock);
    gateway.child.stdout?.destroy();
    gateway.child.stderr?.destroy();
    for (let times = 0; times < 3; times++) {
      expect((await ask(gateway.url)).status).toBe(200);
      // the faults of a changed config are written to stderr
      gateway.write(`models: [${' '.repeat(times)}`);
      gateway.child.kill('SIGHUP');
      await expect.poll(() => fetch(`${gateway.url}/health/live`).then(({ status }) => status)).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    expect(gateway.child.exitCode).toBe(null);
    expect((await ask(gateway.url)).status).toBe(200);
    gateway.child.kill('SIGTERM');
    await expect.poll(() => gateway.child.exitCode).toBe(0);
  });

  // npx starts a shell, and the shell starts the gateway
  test.for([
    ['npm start', 'npm', ['start', '--'], {}],
    ['npx', 'sh', ['-c', `"${process.execPath}" core/main.ts start "$@"; exit $?`, 'sh'], { npm_command: 'exec' }],
  ] as const)('that %s has started ends with it, and frees its port', async ([, command, words, env], { expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-npm-'));
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify(mock));
    const child = spawn(command, [...words, '--config', file, '--port', '0'], {
      cwd: root,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const killAll = (): void => void process.kill(-(child.pid as number), 'SIGKILL');
    const hasEnded = closeAtEndOfFile({ close: killAll });
    let output = '';
    child.stdout.on('data', (bytes) => (output += bytes));
    const urlOf = (): string | undefined => /"url":"([^"]+)"/.exec(output)?.[1];
    await expect.poll(urlOf).toBeDefined();
    const url = urlOf() as string;
    expect((await ask(url)).status).toBe(200);
    // only the end of all processes of the group closes the pipe
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    await expect
      .poll(() =>
        ask(url).then(
          ({ status }) => status,
          () => 'closed',
        ),
      )
      .toBe('closed');
    await closed;
    hasEnded();
    rmSync(folder, { recursive: true });
  });
});

test.runIf(existsSync('/dev/full'))('a command whose output has no space left on the disk says so', () => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, ['core/main.ts', 'models'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  expect([status, stderr]).toEqual([70, 'The output cannot be written: ENOSPC: no space left on device, write\n']);
});

test('what Node says about features that it may change is not in the log, and its other warnings are', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-shell-'));
  const warns = "process.emitWarning('it may change', 'ExperimentalWarning'); process.emitWarning('it will end', 'DeprecationWarning');";
  writeFileSync(join(folder, 'warns.mjs'), `${warns} export default { name: 'local/warns', summary: 'warns', apply() {} };`);
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify({ ...mock, plugins: [...mock.plugins, './warns.mjs'] }));
  const { stderr } = spawnSync(process.execPath, ['core/main.ts', 'check', '--config', file], { cwd: root, encoding: 'utf8' });
  expect(stderr).toMatch(/^\(node:\d+\) DeprecationWarning: it will end\n[^\n]*\n$/);
  rmSync(folder, { recursive: true });
});

test('npm run gateway without words prints the help, and words with spaces are passed on', () => {
  const gateway = (...words: readonly string[]): string =>
    execFileSync('npm', ['run', '--silent', 'gateway', ...words], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  expect(gateway()).toContain('gateway start');
  expect(gateway('--', 'keys', 'create', '--name', 'two words')).toContain('name: "two words"');
});
