import { expect, test } from 'vitest';
import { testGateway, oneUpstream, readEvents } from '../_kit/gateway.ts';
import { startUpstream, answers, completion, streams, said } from '../_kit/upstream.ts';
test('plain', async () => {
  const up = await startUpstream(answers(completion('hello')));
  const g = await testGateway({ config: oneUpstream(up.url) });
  const r = await g.chat({});
  console.log(r.status, Object.fromEntries(r.headers), await r.text());
  up.script(streams(said('a','b','c')));
  const s = await g.chat({ stream: true });
  console.log(s.status, Object.fromEntries(s.headers), JSON.stringify(await readEvents(s), null, 1));
  console.log(up.asked.map((a) => [a.url, a.headers, a.json]), g.records, g.lines);
  await g.close(); await up.close();
});
