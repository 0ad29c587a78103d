import { expect, test } from 'vitest';
import { startAimock, protocolConfig, protocols, spoken } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
test('probe', async () => {
  const a = await startAimock();
  a.mock
    .onMessage('Greet me.', { content: 'Hello, dear caller.', usage: spoken(11, 7) })
    .onMessage('Think first.', { content: 'It is 42.', reasoning: 'Six times seven.' })
    .on({ userMessage: 'Rome', hasToolResult: true }, { content: 'It is warm in Rome.' })
    .on({ userMessage: 'Rome', hasToolResult: false }, { toolCalls: [{ name: 'weather', arguments: '{"city":"Rome"}', id: 'call_rome' }], reasoning: 'I need the weather.', reasoningSignature: 'sig-of-rome', redactedThinking: ['redacted-data'] })
    .onMessage('person', { content: '{"name":"Ada","age":36}' });
  const g = await start(protocolConfig(a.url));
  const post = async (body: any) => { const r = await fetch(`${g.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }); return `${r.status} ${r.headers.get('x-adjusted') ?? ''} ${await r.text()}`; };
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } } }];
  for (const model of (process.env.P ?? protocols.join()).split(",") ) {
    for (const body of [
      { model, messages: [{ role: 'user', content: 'Greet me.' }] },
      { model, stream: true, stream_options: { include_usage: true }, messages: [{ role: 'user', content: 'Greet me.' }] },
      { model, reasoning_effort: 'low', messages: [{ role: 'user', content: 'Think first.' }] },
      { model, reasoning_effort: 'low', tools, messages: [{ role: 'user', content: 'Weather in Rome?' }] },
      { model, stream: true, reasoning_effort: 'low', tools, messages: [{ role: 'user', content: 'Weather in Rome?' }] },
      { model, response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'], additionalProperties: false } } }, messages: [{ role: 'user', content: 'Describe a person.' }] },
    ]) {
      console.log(model, JSON.stringify(body).slice(0, 120));
      console.log(await post(body));
      console.log('UP', a.asked.at(-1)!.url, JSON.stringify(a.asked.at(-1)!.json));
    }
  }
  await g.stop(); await a.close();
}, 60000);
