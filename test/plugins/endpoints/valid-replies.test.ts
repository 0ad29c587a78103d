/**
 * Whatever a provider answers, and however its stream is torn, cut or ended, the caller of each endpoint gets an answer that its client can
 * read: `_kit/reply-rules` has what the clients need. A stream adds up to the answer that the caller gets without one.
 */
import type { ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../../_kit/fuzz.ts';
import { able, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { type AnyAnswer, anyAnswer, isCut } from '../../_kit/reply-rules/any-answer.ts';
import { type Asked, type Door, doors, heard, type Said } from '../../_kit/reply-rules/doors.ts';
import { type Wire, wires } from '../../_kit/reply-rules/wires.ts';
import { answers, startUpstream } from '../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  const reasoning = { efforts: ['low', 'high'], max_tokens: true, exposes: 'text' };
  gateway = await testGateway({
    config: {
      // no provider rests, because a resting provider is not asked
      plugins: quietPlugins.filter((name) => name !== 'route/health'),
      providers: Object.fromEntries(wires.map(({ dialect }) => [dialect, { dialect, base_url: upstream.url, api_key: 'k' }])),
      models: wires.map(({ dialect }) => ({
        id: `by-${dialect}`,
        free: true,
        providers: [{ providerId: dialect, externalId: 'up-1', ...able, reasoning }],
      })),
      routing: { default: { max_attempts: 1, retry: { same_target: 0 } } },
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** The bytes in pieces that are torn at these places. */
function torn(bytes: Uint8Array, tears: readonly number[]): readonly Uint8Array[] {
  const places = [0, ...tears.map((tear) => Math.floor(tear * bytes.length)).toSorted((one, other) => one - other), bytes.length];
  return places.slice(1).map((place, at) => bytes.subarray(places[at], place));
}

/** Gives the loop a turn, so that the piece before is a read of its own. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Streams the answer as the wire format has it, with its tears and its end. */
const streamed = ({ type, events, error, body }: Wire, answer: AnyAnswer): Step =>
  answer.ending.how === 'body'
    ? answers(body(answer))
    : async (response: ServerResponse) => {
        const { ending, tears } = answer;
        const all = events(answer);
        const sent = ending.how === 'whole' ? all : all.slice(0, Math.floor(ending.at * all.length));
        response.writeHead(200, { 'content-type': type });
        for (const piece of torn(Buffer.concat(ending.how === 'error' ? [...sent, error] : sent), tears)) {
          response.write(piece);
          await turn();
        }
        if (ending.how === 'reset') response.socket?.resetAndDestroy();
        else response.end();
      };

interface Case {
  readonly wire: Wire;
  readonly door: Door;
  readonly asked: Asked;
}

async function post({ wire, door, asked }: Case, stream: boolean): Promise<{ status: number; text: string }> {
  const body = { model: `by-${wire.dialect}`, ...door.body(asked), stream };
  // a caller who wants no stream cannot say where its counts come
  const { stream_options: _, ...plain } = body as { stream_options?: object };
  const reply = await gateway.post(stream ? body : plain, { path: door.path, headers: door.headers(asked) });
  return { status: reply.status, text: await reply.text() };
}

/**
 * Whether the caller gets the same answer with a stream and without one: the model's JSON is whole, and the answer has an end. Calls that
 * come side by side without their beginnings are known, and numbered, in the order of their ends.
 */
const isComparable = ({ choices, finish, ending, habit, mixed }: AnyAnswer): boolean => {
  if (choices.flat().some(isCut)) return false;
  return ending.how === 'body' || (ending.how === 'whole' && finish !== 'none' && !(habit === 'skips' && mixed));
};

/** The text of each kind, and the calls. */
const sums = (said: Said): Said =>
  [
    ...[...Map.groupBy(said, ([kind]) => kind)].flatMap(([kind, all]): Said =>
      kind === 'call' ? [] : [[kind, all.map(([, text]) => text).join('')]],
    ),
    ...said.filter(([kind]) => kind === 'call'),
  ].toSorted(([one], [other]) => one.localeCompare(other));

/** Sums, where a body of this wire format has the parts in another order than the stream. */
const comparable = ({ wire }: Case, said: Said, { mixed }: AnyAnswer): Said => (wire.keepsOrder && !mixed ? said : sums(said));

/** What is wrong with the replies to one answer; an empty list: nothing is. */
async function faultsOf(one: Case, answer: AnyAnswer): Promise<readonly unknown[]> {
  const { wire, door, asked } = one;
  upstream.script(streamed(wire, answer), answers(wire.body(answer)));
  const stream = await post(one, true);
  const plain = await post(one, false);
  const body = plain.status === 200 ? JSON.parse(plain.text) : null;
  const faults = body === null ? [] : door.brokenByBody(body, asked);
  if (stream.status !== 200) return [...faults, ...(stream.status >= 500 ? [] : [stream])];
  const listened = heard(stream.text);
  const broken = [...faults, ...door.brokenByStream(listened, asked)];
  const whole = door.wholeOf(listened, asked);
  if (broken.length > 0 || body === null || whole === null || !isComparable(answer)) return broken;
  const sum = (of: any): unknown => [comparable(one, door.saidIn(of), answer), door.endOf(of, asked)];
  expect(sum(whole)).toEqual(sum(body));
  return [];
}

const anyAsked: fc.Arbitrary<Asked> = fc.record({
  wantsUsage: fc.boolean(),
  isJava: fc.boolean(),
  wantsState: fc.boolean(),
  isCli: fc.boolean(),
  tools: fc.constantFrom('tools', 'tools', 'custom', 'functions'),
});

describe.each(wires)('an answer of $dialect', (wire) => {
  it.each(['chat', 'messages', 'responses'] as const)('can be read by the clients of the endpoint %s', async (name) => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, anyAsked, async (answer, asked) => {
        expect(await faultsOf({ wire, door: doors[name], asked }, answer)).toEqual([]);
      }),
      // fifteen tests share the requests of a fuzz run
      runs(40, 15),
    );
  });
});
