/** The output of `gateway logs` and `gateway stats`. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findCommand, parseArguments } from '../../../../../core/cli/command-line.ts';
import { GatewayError } from '../../../../../core/errors.ts';
import { Exit } from '../../../../../core/exit.ts';
import type { Command } from '../../../../../core/host/command.ts';
import { logCommands } from '../../../../../plugins/endpoints/logs/commands/commands.ts';
import { connect } from '../../../../../plugins/endpoints/logs/commands/connection.ts';
import type { Ask, Connection } from '../../../../../plugins/endpoints/logs/commands/connection.ts';
import { logsSelection, statsSelection } from '../../../../../plugins/endpoints/logs/commands/flags.ts';
import type { Selection } from '../../../../../plugins/endpoints/logs/commands/flags.ts';
import { showLogs } from '../../../../../plugins/endpoints/logs/commands/logs.ts';
import { showStats } from '../../../../../plugins/endpoints/logs/commands/stats.ts';
import { attempt } from '../../../log/journal/scene.ts';
import { freePort } from '../../../../_kit/servers.ts';
import { at, logScene } from '../scene.ts';
import type { Scene } from '../scene.ts';

/** The filters of `logs …` or `stats …`. */
function selectionOf(...args: string[]): Selection {
  const { command, rest } = findCommand(args, logCommands) as { command: Command; rest: readonly string[] };
  const { flags, words } = parseArguments(command, rest);
  return (command.name === 'logs' ? logsSelection : statsSelection)({ flags, words, json: false });
}

let scene: Scene;
let connection: Connection;
let printed = '';
const output = { print: (text: string) => void (printed += text), say: () => {} };

const begin = async (): Promise<Scene> => await logScene({ admin_key: 'the-admin-key-of-the-test' });
const connectionTo = async ({ gateway }: Scene): Promise<Connection> =>
  await connect({
    named: { url: `http://127.0.0.1:${await freePort()}`, isHere: true },
    askRunning: () => Promise.reject(new Error('is not asked where an address is named')),
    adminKey: 'the-admin-key-of-the-test',
    openLog: async () => gateway,
  });

beforeEach(async () => {
  printed = '';
  scene = await begin();
  connection = await connectionTo(scene);
});
afterEach(async () => await scene.close());

const logs = async (...args: string[]): Promise<string[]> => {
  const isJson = args.includes('--json');
  await showLogs(connection, { ...selectionOf('logs', ...args.filter((arg) => arg !== '--json')), json: isJson }, output);
  return printed.trimEnd().split('\n');
};

describe('gateway logs', () => {
  it('prints the newest request last, next to the prompt', async () => {
    const [older, newer] = [
      scene.log.add({ createdAt: at(2) }),
      scene.log.add({
        createdAt: at(1),
        status: 429,
        outcome: 'failed',
        error: { code: 'upstream_rate_limited', message: '', plugin: null },
      }),
    ];
    const [head, first, second] = await logs();
    expect(head).toMatch(/^TIME \(UTC\) +STATUS +MODEL → PROVIDER +KEY +FIRST +TOTAL/);
    expect(first).toMatch(new RegExp(`^2026-03-01 11:58:00 +200 +plain → up .* 100 ms .* \\$0\\.00002 +${older.id} +completed$`));
    expect(second).toMatch(new RegExp(`429 .*${newer.id} +failed: upstream_rate_limited$`));
  });

  it('shows no time of a request whose process died', async () => {
    const { id } = scene.log.add({ outcome: 'interrupted', status: 0, durationMs: 0, timeToFirstTokenMs: null });
    expect((await logs()).at(-1)).toMatch(/ plain → up .* – +– /);
    expect((await logs(id)).join('\n')).toMatch(/\nduration +–\n/);
  });

  it('marks estimates', async () => {
    const { id } = scene.log.add({ usageEstimated: true, userAgent: 'curl/8' });
    expect((await logs()).at(-1)).toMatch(/ ≈10 +≈5 +≈2 +≈\$0\.00002 /);
    expect((await logs(id)).join('\n')).toMatch(
      /\nuser agent +curl\/8\n[\s\S]*\ntokens +≈10 in \(0 cached\), ≈5 out \(≈2 reasoning\)\ncost +≈\$0\.00002\n/,
    );
  });

  it('shows the endpoint of one request, and the request in the form of that endpoint', async () => {
    const { id } = scene.log.add({
      path: '/v1/messages',
      request: {
        model: 'plain',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ],
        max_completion_tokens: 9,
      },
    });
    const text = (await logs(id)).join('\n');
    expect(text).toMatch(/\npath +\/v1\/messages\n/);
    expect(text).toContain('"system": "Be brief."');
    expect(text).toContain('"max_tokens": 9');
  });

  it("marks a cost that is an upper bound, and shows the provider's own figure for one request", async () => {
    const { id } = scene.log.add({ usageEstimated: true, costIsUpperBound: true, providerCost: '0.00001' });
    expect((await logs()).at(-1)).toMatch(/ ≈10 +≈5 +≈2 +≤\$0\.00002 /);
    expect((await logs(id)).join('\n')).toContain('≤$0.00002 (the provider says $0.00001)');
  });

  it('passes the filters on', async () => {
    scene.log.add({ metadata: { team: 'a' } });
    scene.log.add({ metadata: { team: 'b' } });
    expect((await logs('--meta', 'team=b', '--json')).map((line) => JSON.parse(line).metadata)).toEqual([{ team: 'b' }]);
  });

  it('reads as many pages as needed', async () => {
    for (let second = 0; second < 1100; second++) scene.log.add({ createdAt: at(second / 60) });
    expect(await logs('--limit', '1050', '--json')).toHaveLength(1050);
  });

  it('shows one whole request', async () => {
    const { id } = scene.log.add({ reasoningContent: 'because', metadata: { team: 'a' }, request: { question: 'why?' } });
    expect((await logs(id)).join('\n')).toMatch(
      new RegExp(`^id +${id}\\n[\\s\\S]*meta\\.team +a\\n[\\s\\S]*"question": "why\\?"[\\s\\S]*reasoning\\nbecause`),
    );
  });

  it('shows the fields of plugins, and which plugins took longest', async () => {
    const { id } = scene.log.add({
      fields: { canned: true },
      timings: { 'auth/keys': 0.02, 'log/journal': 7.123, 'log/cost': 0.5, 'route/policy': 0.01 },
    });
    expect((await logs(id)).join('\n')).toMatch(
      /\nfield\.canned +true\nplugins +log\/journal 7\.12 ms, log\/cost 0\.50 ms, auth\/keys 0\.02 ms\n/,
    );
  });

  it('shows each attempt, with the id under which its provider knows it', async () => {
    const { id } = scene.log.add({
      attempts: [attempt('upstream_error', { error: 'broken', providerRequestId: 'req_1' }), attempt('answered')],
    });
    expect((await logs(id)).join('\n')).toMatch(
      /\nattempt 1 +up upstream_error 90 ms, its request id req_1: broken\nattempt 2 +up answered 90 ms\n/,
    );
  });

  it('prints no escape sequences of callers', async () => {
    const { id } = scene.log.add({
      requestedModel: '\u001b[2Jx',
      model: null,
      metadata: { a: '\u009b31m' },
      reasoningContent: 'a\n\u001b]0;title\u0007b',
    });
    expect([...(await logs()), ...(await logs(id)), ...(await logs('--json')), ...(await logs(id, '--json'))].join('')).not.toMatch(
      /\p{Cc}/u,
    );
    printed = '';
    await showStats(connection, { ...selectionOf('stats', '--by', 'meta.a'), json: true }, output);
    expect(printed.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(JSON.parse(printed)).toMatchObject([{ value: '\u009b31m' }]);
  });

  it('follows a gateway that is started again: it says so, and shows each request once', async () => {
    const next = await begin();
    onTestFinished(async () => await next.close());
    const away: Ask = () => Promise.reject(new Exit(5, 'No gateway runs.'));
    let { ask } = connection;
    let said = '';
    const following = showLogs(
      { ask: (path, more) => ask(path, more), isRunning: true },
      { ...selectionOf('logs', '-f'), json: true },
      { ...output, say: (text) => void (said += text) },
    );
    const listed = scene.log.add({ createdAt: at(3) });
    await expect.poll(() => printed).toContain(listed.id);
    const seen = scene.log.add({ createdAt: at(2) });
    await expect.poll(() => printed).toContain(seen.id);
    ask = away;
    scene.gateway.drain();
    await expect.poll(() => said).toBe('The gateway does not answer; trying again.\n');
    for (const record of [listed, seen]) next.log.add(record);
    const missed = next.log.add({ createdAt: at(1) });
    ({ ask } = await connectionTo(next));
    await expect.poll(() => printed).toContain(missed.id);
    ask = () => Promise.reject(new Exit(1, 'The admin key is not valid.'));
    next.gateway.drain();
    await expect(following).rejects.toThrow('not valid');
    const ids = printed
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids).toEqual([listed.id, seen.id, missed.id]);
  });

  it('follows only a running gateway', async () =>
    await expect(logs('-f')).rejects.toMatchObject({ code: 5, message: expect.stringMatching(/^There is no running gateway to follow/) }));

  it.each<[GatewayError | null, string[], number]>([
    [new GatewayError('log_unavailable', 'away'), [], 4],
    [null, ['--id', '01a1fed5-43fe-7000-8000-00e00855f05b'], 1],
    [null, ['--id', 'nobody'], 2],
  ])('ends with the exit code of the fault: %s', async (fault, args, code) => {
    if (fault !== null) scene.log.fail(fault);
    const failed = await logs(...args).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Exit);
    expect((failed as Exit).code).toBe(code);
  });
});

describe('gateway stats', () => {
  it('prints a row for each value, and one for requests without a value', async () => {
    scene.log.add({ metadata: { team: 'a' }, cost: '0.5' });
    scene.log.add({ metadata: { team: 'a' }, cost: null });
    scene.log.add({ outcome: 'failed', status: 502 });
    await showStats(connection, selectionOf('stats', '--by', 'meta.team'), output);
    expect(printed).toMatch(/^META\.TEAM +REQUESTS +ERRORS/);
    expect(printed).toMatch(/\na +2 +0 .*\$0\.50 \* .*\n\(none\) +1 +1 \(100\.0 %\)/);
    expect(printed).toContain('* without requests whose cost is not known');
  });

  it('shows an empty value apart from no value', async () => {
    scene.log.add({ metadata: { team: '' } });
    scene.log.add();
    await showStats(connection, selectionOf('stats', '--by', 'meta.team'), output);
    expect(
      printed
        .split('\n')
        .slice(1, 3)
        .map((line) => line.split(' ')[0])
        .toSorted((a = '', b = '') => a.localeCompare(b)),
    ).toEqual(['(empty)', '(none)']);
  });

  it('marks sums with estimates, and explains the mark', async () => {
    scene.log.add({ usageEstimated: true, model: 'a' });
    scene.log.add({ usageEstimated: true, model: 'b', cost: '0' });
    scene.log.add({ model: 'c' });
    await showStats(connection, selectionOf('stats', '--by', 'model'), output);
    expect(printed).toMatch(/\na .* ≈10 +≈5 +≈2 +≈\$0\.00002 /);
    expect(printed).toMatch(/\nb .* ≈10 +≈5 +≈2 +\$0 /);
    expect(printed).toMatch(/\nc .* 10 +5 +2 +\$0\.00002 /);
    expect(printed).toContain('≈ some of the counts are estimates');
  });

  it('prints JSON for machines', async () => {
    scene.log.add();
    await showStats(connection, { ...selectionOf('stats'), json: true }, output);
    expect(JSON.parse(printed)).toMatchObject([{ value: null, requests: 1 }]);
  });
});
