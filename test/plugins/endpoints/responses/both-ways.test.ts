/** The same answer of a provider, asked with a stream and without one, and as it is kept: the items are the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, event, startUpstream, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { able, respond, streamOf } from './stage.ts';

let folder: string;
let up: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-both-'));
  up = await startUpstream();
  const config = oneUpstream(up.url) as { providers: object; models: object[] };
  const painter = { id: 'painter', free: true, providers: [{ providerId: 'two', externalId: 'gemini-3-pro-image', ...able }] };
  gateway = await testGateway({
    config: {
      ...config,
      server: { data_dir: folder },
      providers: { ...config.providers, two: { dialect: 'gemini', base_url: up.url, api_key: 'k' } },
      models: [...config.models, painter],
    },
    use: [{ use: 'log/journal', with: { bodies: true } }],
  });
});
afterAll(async () => {
  await gateway?.close();
  await up?.close();
  rmSync(folder, { recursive: true, force: true });
});

const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } };

/** The items with the number of each in place of its id: the id of the response is a part of it. */
const numbered = (response: any): any[] =>
  response.output.map((item: any) => ({ ...item, id: item.id.replace(response.id.slice('resp_'.length), '') }));

/** The items put together from the events of a stream, as the SDKs do. */
function assembled(events: readonly any[]): any[] {
  const items: any[] = [];
  for (const { type, output_index: at, ...event } of events) {
    const item = items[at];
    const part = item?.content?.[event.content_index];
    if (type === 'response.output_item.added') items[at] = structuredClone(event.item);
    else if (type === 'response.content_part.added') item.content.push(structuredClone(event.part));
    else if (type === 'response.output_text.delta') {
      part.text += event.delta;
      part.logprobs.push(...event.logprobs);
    } else if (type === 'response.output_text.annotation.added') part.annotations[event.annotation_index] = event.annotation;
  }
  return items.map(({ type, content }) => [type, content]);
}

/**
 * Asks both ways, and checks that the items are the same. Gives the items of the stream, and those put together from its events.
 * @param isLate the lists of the message come after it is done
 */
async function bothWays(
  whole: Step,
  streamed: Step,
  { isLate = false, ...more }: { isLate?: boolean; [field: string]: unknown } = {},
): Promise<{ output: any[]; parts: any[] }> {
  const asked = { tools: [weather], ...more };
  up.script(whole, streamed);
  const plain = await respond(gateway, asked);
  const { response, events } = await streamOf(gateway, asked, { isLate });
  const kept = await Promise.all([plain, response].map(async ({ id }) => await (await gateway.get(`/v1/responses/${id}`)).json()));
  expect([numbered(response), ...kept.map(numbered)]).toEqual([numbered(plain), numbered(plain), numbered(plain)]);
  return { output: response.output, parts: assembled(events) };
}

const citation = { type: 'url_citation', url_citation: { url: 'https://example.org/', title: 'T', start_index: 0, end_index: 4 } };
const flat = { type: 'url_citation', ...citation.url_citation };
const calls = [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }];
const chunks = (...events: string[]): Step => streams([...events, 'data: [DONE]\n\n']);

it('citations that come after the calls have begun are in the message', async () => {
  const { parts } = await bothWays(
    answers(completion('Yes.', { tool_calls: calls, annotations: [citation] })),
    chunks(event({ content: 'Yes.' }), event({ tool_calls: calls }), event({ annotations: [citation] }), event({}, 'tool_calls')),
    { isLate: true },
  );
  expect(parts).toEqual([
    ['message', [{ type: 'output_text', text: 'Yes.', annotations: [flat], logprobs: [] }]],
    ['function_call', undefined],
  ]);
});

it.each([
  ['with their texts', false],
  ['at the end', true],
])('citations of two messages that come %s are in the message that has their text, at its place in it', async (_, isLate) => {
  const at = (start: number): object => ({
    type: 'url_citation',
    url_citation: { ...citation.url_citation, start_index: start, end_index: start + 3 },
  });
  const content = [
    { type: 'text', text: 'One. ' },
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'Two.' },
  ];
  const { output, parts } = await bothWays(
    answers(completion('', { content, annotations: [at(0), at(5)] })),
    chunks(
      event({ content: 'One. ', ...(!isLate && { annotations: [at(0)] }) }),
      event({ reasoning_content: 'Hm.' }),
      event({ content: 'Two.' }),
      event({ annotations: isLate ? [at(0), at(5)] : [at(5)] }),
      event({}, 'stop'),
    ),
    { isLate },
  );
  const cited = [{ ...flat, start_index: 0, end_index: 3 }];
  expect(output.map((item) => item.content?.[0].annotations)).toEqual([cited, undefined, cited]);
  expect(parts.flatMap(([, texts]) => texts?.[0].annotations ?? [])).toEqual([...cited, ...cited]);
});

it('sources that come after the calls have begun are in the message', async () => {
  const citations = ['https://example.org/'];
  const { output } = await bothWays(
    answers({ ...completion('Yes.', { tool_calls: calls }), citations }),
    chunks(
      event({ content: 'Yes.' }),
      event({ tool_calls: calls }),
      event({}, 'tool_calls').replace('{', `{"citations":${JSON.stringify(citations)},`),
    ),
    { isLate: true },
  );
  expect(output).toMatchObject([{ type: 'message', citations }, { type: 'function_call' }]);
});

const likely = (token: string): object => ({ token, logprob: -0.1, bytes: [1], top_logprobs: [] });
const logprobs = { content: [likely('Yes.')], refusal: null };
const unlikely = (message: object): object => {
  const { choices, ...more } = completion('Yes.', message) as { choices: object[] };
  return { ...more, choices: [{ ...choices[0], logprobs }] };
};

it.each([
  ['alone', {}],
  ['with a call', { tool_calls: calls }],
  ['with a citation', { annotations: [citation] }],
  ['with both', { tool_calls: calls, annotations: [citation] }],
])('the log probabilities of a text %s are the same where the provider answers a stream with a body', async (_, message) => {
  const body = answers(unlikely(message));
  const { parts } = await bothWays(body, body, { include: ['message.output_text.logprobs'] });
  expect(parts[0][1][0]).toMatchObject({ text: 'Yes.', logprobs: logprobs.content });
});

it('log probabilities of the tokens of a call are among those of the text', async () => {
  const piece = (delta: object, token: string): string =>
    event(delta).replace('"finish_reason":null', `"logprobs":${JSON.stringify({ content: [likely(token)] })},"finish_reason":null`);
  const streamed = chunks(piece({ content: 'Yes.' }, 'Yes.'), piece({ tool_calls: calls }, '{}'), event({}, 'tool_calls'));
  const body = completion('Yes.', { tool_calls: calls }) as { choices: object[] };
  const whole = answers({ ...body, choices: [{ ...body.choices[0], logprobs: { content: ['Yes.', '{}'].map(likely) } }] });
  await bothWays(whole, streamed, { include: ['message.output_text.logprobs'] });
});

const image = { inlineData: { mimeType: 'image/png', data: 'QUFB' } };
const save = { functionCall: { name: 'weather', args: {} } };
it.each<[string, readonly object[], readonly string[]]>([
  ['a call', [save, image], ['function_call', 'message']],
  ['a text and a call', [{ text: 'Look:' }, save, image], ['message', 'function_call', 'message']],
  ['an image and a call', [image, save, image], ['message', 'function_call', 'message']],
  ['a text and a thought', [{ text: 'Look:' }, { text: 'Hm.', thought: true }, image], ['message', 'reasoning', 'message']],
])('an image that comes after %s has its own place', async (_, parts, types) => {
  const body = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] };
  const { output } = await bothWays(answers(body), streams([`data: ${JSON.stringify(body)}\n\n`]), { model: 'painter' });
  expect(output.map(({ type }) => type)).toEqual(types);
  expect(output.at(-1)).toMatchObject({ images: [{ image_url: { url: 'data:image/png;base64,QUFB' } }] });
});
