/** A door whose encoder fails in the middle of a stream: the request is on record, and the connection to its provider is closed. */
import { expect, it } from 'vitest';
import { createEncoder, encodeReply } from '../../../plugins/endpoints/chat-completions/encode.ts';
import { parseChatRequest } from '../../../plugins/endpoints/chat-completions/parse.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { event, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

type Encoder = typeof createEncoder;

const fails = (): never => {
  throw new Error('a bug');
};

/** Asks a door with this encoder for a stream that does not end, and reads the reply. */
async function readsFrom(encoder: Encoder): Promise<TestGateway & { up: ScriptedUpstream }> {
  const up = await provider(streams([event({ role: 'assistant', content: 'a' })], { end: 'hang' }));
  const door = probe(({ routes }) =>
    routes.addDoor({ path: '/broken', parse: (body) => parseChatRequest(body), encoder, encode: encodeReply }),
  );
  const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [door] });
  const ask = { model: 'plain', stream: true, messages: [{ role: 'user', content: 'hi' }] };
  await gateway
    .post(ask, { path: '/broken' })
    .then((response) => response.text())
    .catch(() => null);
  return { ...gateway, up };
}

const doors: readonly [string, Encoder][] = [
  ['cannot encode a piece', (head) => ({ ...createEncoder(head), chunks: fails })],
  ['cannot even be made', fails],
];

it.each(doors)('an encoder that %s leaves a record with its attempt and no open connection', async (_, encoder) => {
  const { records, up } = await readsFrom(encoder);
  await expect.poll(() => records.length).toBe(1);
  expect(records).toMatchObject([{ outcome: 'cut', error: { code: 'internal_error' }, attempts: [{ provider: 'up' }] }]);
  await up.asked[0]?.closed;
});
