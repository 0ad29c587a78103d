/** The place of the token counts in a stream. */
import { expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../../../_kit/gateway.ts';
import { provider, gatewayOf } from '../../../core/scene.ts';
import { said, streams } from '../../../_kit/upstream.ts';

const java = { 'x-stainless-lang': 'java' };
const python = { 'x-stainless-lang': 'python' };
const asks = { stream_options: { include_usage: true } };

/** The last events of a stream: the number of choices, the finish reason, and whether the event has the counts. */
async function endOf(body: object, headers: Record<string, string> = {}): Promise<unknown[]> {
  const upstream = await provider(streams(said('Hel', 'lo.')));
  const gateway = await gatewayOf(oneUpstream(upstream.url));
  const { events, done } = await readEvents(await gateway.chat({ stream: true, ...body }, headers));
  expect(done).toBe(true);
  return events.slice(-2).map(({ choices, usage }: any) => [choices.length, choices[0]?.finish_reason, usage?.total_tokens]);
}

it.each([
  [
    'on the event with the finish reason, for a caller who did not ask',
    {},
    {},
    [
      [1, null, undefined],
      [1, 'stop', 15],
    ],
  ],
  [
    'on the event with the finish reason, for other libraries of the same family',
    {},
    python,
    [
      [1, null, undefined],
      [1, 'stop', 15],
    ],
  ],
  [
    'in an event of their own without choices, for a caller who asked',
    asks,
    {},
    [
      [1, 'stop', undefined],
      [0, undefined, 15],
    ],
  ],
  [
    'in an event of their own after the finish reason, for openai-java',
    {},
    java,
    [
      [1, 'stop', undefined],
      [1, null, 15],
    ],
  ],
  [
    'as it asked, for openai-java',
    asks,
    java,
    [
      [1, 'stop', undefined],
      [0, undefined, 15],
    ],
  ],
])('sends the counts %s', async (_, body, headers, end) => {
  expect(await endOf(body, headers)).toEqual(end);
});
