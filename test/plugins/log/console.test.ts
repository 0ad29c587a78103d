/** log/console: one line for each request, without text of the conversation and without escape sequences for a terminal. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { jsonLine, textLine } from '../../../plugins/log/console.ts';
import { start } from '../../_kit/executable.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion, pause } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

async function recordOf(request: object): Promise<RequestRecord> {
  const up = await provider(answers(completion('the answer text')));
  const { chat, records } = await gatewayOf(oneUpstream(up.url));
  await chat({ messages: [{ role: 'user', content: 'the question text' }], ...request }, { authorization: 'Bearer sk-callers-own' });
  return records[0] as RequestRecord;
}

describe('the line of a request', () => {
  it('has the model, the provider and the cost', async () => {
    const line = stripVTControlCharacters(textLine(await recordOf({})));
    expect(line).toMatch(/^\d\d:\d\d:\d\d  200  plain → up\/plain  \d+ ms  (\(first \d+ ms\)  )?10\+5 tokens  \$0\.00002  [\da-f-]{36}$/);
  });

  it('marks estimates', async () => {
    const record = { ...(await recordOf({})), usageEstimated: true };
    expect(stripVTControlCharacters(textLine(record))).toContain('  ≈10+5 tokens  ≈$0.00002  ');
    expect(JSON.parse(jsonLine(record))).toMatchObject({ usageEstimated: true });
  });

  it('marks a cost that is an upper bound', async () => {
    const record = { ...(await recordOf({})), usageEstimated: true, costIsUpperBound: true };
    expect(stripVTControlCharacters(textLine(record))).toContain('  ≈10+5 tokens  ≤$0.00002  ');
    expect(JSON.parse(jsonLine(record))).toMatchObject({ costIsUpperBound: true });
  });

  it('has the error', async () => {
    expect(stripVTControlCharacters(textLine(await recordOf({ model: 'nothing' })))).toMatch(
      /  404  nothing  \d+ ms  refused: model_not_found  /,
    );
  });

  it('has the same facts as JSON', async () => {
    expect(JSON.parse(jsonLine(await recordOf({})))).toMatchObject({
      level: 'info',
      msg: 'request',
      requestedModel: 'plain',
      model: 'plain',
      provider: 'up',
      status: 200,
      outcome: 'answered',
      cost: '0.00002',
      attempts: 1,
      error: null,
    });
  });

  it('has no word of the conversation and no key', async () => {
    const record = await recordOf({});
    expect(textLine(record) + jsonLine(record)).not.toMatch(/question|answer text|sk-/);
  });

  const controls = ['a\nb', 'a\u001b[2Jb', 'a\u0007b', 'a\u202eb', 'a\u2028b', 'a\u009bb'];

  it.each(controls)('shows %j on one line, escaped', async (model) => {
    const record = await recordOf({ model });
    expect(stripVTControlCharacters(textLine(record))).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(jsonLine(record)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(JSON.parse(jsonLine(record))).toMatchObject({ requestedModel: model });
  });

  it.each(controls)(
    'shows the code %j of an error on one line, because a dialect of a plugin may take it from a provider',
    async (code) => {
      const record = { ...(await recordOf({})), error: { code, message: 'no', plugin: null } };
      expect(textLine(record)).toContain(': a?');
    },
  );
});

test('lines that no process reads do not fill the memory: later lines are left out, until stdout is read again', async () => {
  const key = 'sk-caller-0123456789';
  const long = 'x'.repeat(500_000);
  const gateway = await start({
    keys: [{ name: 'wordy', key, metadata: { long } }],
    plugins: ['endpoints/chat-completions', 'auth/keys', 'stream/mock', 'log/console'],
    providers: { mock: { dialect: 'mock' } },
  });
  const ask = async (model: string): Promise<void> => {
    await (
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
      })
    ).text();
  };
  const { output, child } = gateway;
  child.stdout?.pause();
  for (let i = 0; i < 40; i++) await ask('first');
  expect(output().stderr.split('lines of requests are left out').length - 1).toBe(1);
  child.stdout?.resume();
  for (let i = 0; !output().stdout.includes('"later"'); i++) {
    await ask('later');
    await pause(50);
  }
  const leftOut = Number(/"stdout is read again".*"leftOut":(\d+)/.exec(output().stderr)?.[1]);
  const written = output().stdout.split('"first"').length - 1;
  expect(leftOut).toBeGreaterThanOrEqual(40 - written);
  // the most lines that wait
  expect(written).toBeLessThan(25);
  expect(written).toBeGreaterThan(15);
  expect(await gateway.stop()).toBe(0);
});
