/** log/console: one line for a request, with nothing of the conversation in it and nothing that a terminal would obey. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { jsonLine, textLine } from '../../../plugins/log/console.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

async function recordOf(request: object): Promise<RequestRecord> {
  const up = await provider(answers(completion('the answer text')));
  const { chat, records } = await gatewayOf(oneUpstream(up.url));
  await chat({ messages: [{ role: 'user', content: 'the question text' }], ...request }, { authorization: 'Bearer sk-callers-own' });
  return records[0] as RequestRecord;
}

describe('the line of a request', () => {
  it('says what was asked, who answered, and what it cost', async () => {
    const line = stripVTControlCharacters(textLine(await recordOf({})));
    expect(line).toMatch(/^\d\d:\d\d:\d\d  200  plain → up\/plain  \d+ ms  (\(first \d+ ms\)  )?10\+5 tokens  \$0\.00002  [\da-f-]{36}$/);
  });

  it('says what is an estimate', async () => {
    const record = { ...(await recordOf({})), usageEstimated: true };
    expect(stripVTControlCharacters(textLine(record))).toContain('  ≈10+5 tokens  ≈$0.00002  ');
    expect(JSON.parse(jsonLine(record))).toMatchObject({ usageEstimated: true });
  });

  it('says what is the most that it may have cost', async () => {
    const record = { ...(await recordOf({})), usageEstimated: true, costIsUpperBound: true };
    expect(stripVTControlCharacters(textLine(record))).toContain('  ≈10+5 tokens  ≤$0.00002  ');
    expect(JSON.parse(jsonLine(record))).toMatchObject({ costIsUpperBound: true });
  });

  it('says what went wrong', async () => {
    expect(stripVTControlCharacters(textLine(await recordOf({ model: 'nothing' })))).toMatch(/  404  nothing  \d+ ms  refused: model_not_found  /);
  });

  it('as JSON has the same facts', async () => {
    expect(JSON.parse(jsonLine(await recordOf({})))).toMatchObject({ level: 'info', msg: 'request', requestedModel: 'plain', model: 'plain', provider: 'up', status: 200, outcome: 'answered', cost: '0.00002', attempts: 1, error: null });
  });

  it('has no word of the conversation and no key', async () => {
    const record = await recordOf({});
    expect(textLine(record) + jsonLine(record)).not.toMatch(/question|answer text|sk-/);
  });

  it.each(['a\nb', 'a\u001b[2Jb', 'a\u0007b', 'a\u202eb', 'a\u2028b', 'a\u009bb'])('shows %j on one line, disarmed', async (model) => {
    const record = await recordOf({ model });
    expect(stripVTControlCharacters(textLine(record))).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(jsonLine(record)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(JSON.parse(jsonLine(record))).toMatchObject({ requestedModel: model });
  });
});
