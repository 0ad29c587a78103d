/** What `gateway targets` prints; test/e2e/targets.test.ts runs it against a gateway. */
import { expect, test } from 'vitest';
import type { CommandRun } from '../../../../core/host/command.ts';
import { targetCommands } from '../../../../plugins/route/health/commands.ts';
import type { ShownTarget } from '../../../../plugins/route/health/routes.ts';

const target = (name: string, more: Partial<ShownTarget> = {}): ShownTarget => ({
  target: name,
  provider: name,
  models: ['m'],
  state: 'standing',
  why: null,
  restsUntil: null,
  calls: 1,
  failures: 0,
  ...more,
});

async function printed(...data: readonly ShownTarget[]): Promise<string> {
  let text = '';
  const run = {
    words: [],
    flags: new Map(),
    json: false,
    print: (part: string) => void (text += part),
    askRunning: async () => Response.json({ data }),
  };
  await targetCommands[0]?.run(run as unknown as CommandRun<never>);
  return text;
}

test.each<[string, ShownTarget[]]>([
  ['1 target, none rests', [target('a')]],
  [
    '4 targets, 1 at rest, 1 to be tried again, 1 asked last',
    [
      target('a'),
      target('b', { state: 'resting', why: 'upstream_error', restsUntil: '2026-11-22T12:00:00.000Z' }),
      target('c', { state: 'trying', why: 'upstream_error' }),
      target('d', { askedLastUntil: '2026-11-22T12:00:00.000Z' }),
    ],
  ],
  ['1 target, 1 to be tried again', [target('a', { state: 'trying' })]],
  ['1 target, none rests, 1 asked last', [target('a', { askedLastUntil: '2026-11-22T12:00:00.000Z' })]],
])('gateway targets sums up: %s', async (summary, data) => {
  expect((await printed(...data)).split('\n').at(-2)).toBe(summary);
});
