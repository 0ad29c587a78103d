/**
 * A tool loop of twenty turns whose client changes the provider and the endpoint after every five, with the
 * SDK of each endpoint. The providers refuse state that they did not issue (test/_kit/strict-vendors.ts).
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { startStrictVendor } from '../_kit/strict-vendors.ts';
import type { Script, StrictVendor, Vendor } from '../_kit/strict-vendors.ts';

type Door = 'chat' | 'messages' | 'responses';

/** Reasoning as a client has it: the shown text, the opaque string, and the form of the endpoint. */
interface Thought {
  readonly text: string;
  readonly opaque: string | null;
  readonly door: Door;
  readonly raw: any;
}

interface Answer {
  readonly thoughts: readonly Thought[];
  readonly call: { readonly id: string; readonly arguments: string } | null;
  readonly text: string;
}

/** A call and its result, or a text of the user. */
type Turn = { readonly user: string } | (Answer & { readonly result: string });

const vendors = {} as Record<Vendor, StrictVendor>;
/** A gateway that keeps state for clients that drop it, and one that has only the state that clients send back. */
const gateways: Running[] = [];
let openai: OpenAI;
let anthropic: Anthropic;

function askAt({ url }: Running): void {
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 });
}

const readsOn: Script = ({ results }) =>
  results.at(-1)?.includes('enough') === true ? null : { name: 'look', input: { page: results.length } };

const models: Readonly<Record<Vendor, { readonly dialect: string; readonly mapping: object }>> = {
  claude: { dialect: 'anthropic', mapping: { externalId: 'claude-sonnet-4-5', reasoning: { max_tokens: true } } },
  openai: { dialect: 'openai', mapping: { externalId: 'gpt-5.1', dialect: 'openai-responses', reasoning: { efforts: ['low', 'high'] } } },
  gemini: { dialect: 'gemini', mapping: { externalId: 'gemini-3-pro-preview', reasoning: { efforts: ['low', 'high'] } } },
  deepseek: { dialect: 'deepseek', mapping: { externalId: 'deepseek-v4-pro', reasoning: { efforts: ['low', 'high'] } } },
};

beforeAll(async () => {
  const names = Object.keys(models) as Vendor[];
  for (const name of names) vendors[name] = await startStrictVendor(name, readsOn);
  const config = {
    providers: Object.fromEntries(
      names.map((name) => [name, { dialect: models[name].dialect, base_url: vendors[name].url, api_key: 'k' }]),
    ),
    models: names.map((name) => ({
      id: name,
      free: true,
      providers: [{ providerId: name, streaming: true, tools: true, parallelToolCalls: true, cancellation: true, ...models[name].mapping }],
    })),
    routing: { default: { retry: { same_target: 0 } } },
  };
  for (const plugins of [shippedPlugins, shippedPlugins.filter((name) => name !== 'normalise/continuity')]) {
    gateways.push(await start({ ...config, plugins }));
  }
});

beforeEach(() => {
  for (const { refused } of Object.values(vendors)) refused.length = 0;
});

afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  for (const vendor of Object.values(vendors)) await vendor.close();
});

const parameters = { type: 'object' as const, properties: { page: { type: 'number' as const } } };

interface Asking {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly isStream: boolean;
}

const asksBy: Readonly<Record<Door, (asking: Asking) => Promise<Answer>>> = {
  async chat({ model, turns, isStream }) {
    const messages = turns.flatMap((turn): any[] => {
      if ('user' in turn) return [{ role: 'user', content: turn.user }];
      const { thoughts, call, result } = turn;
      const own = thoughts.find(({ door }) => door === 'chat')?.raw;
      const details = thoughts.map(({ text, opaque }) =>
        text === ''
          ? { type: 'reasoning.encrypted', data: opaque }
          : { type: 'reasoning.text', text, ...(opaque !== null && { signature: opaque }) },
      );
      const said = {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: call!.id, type: 'function', function: { name: 'look', arguments: call!.arguments } }],
      };
      return [
        { ...said, ...(own ?? (details.length > 0 && { reasoning_details: details })) },
        { role: 'tool', tool_call_id: call!.id, content: result },
      ];
    });
    const params = {
      model,
      messages,
      tools: [{ type: 'function' as const, function: { name: 'look', parameters } }],
      reasoning_effort: 'low' as const,
    };
    const completion = isStream
      ? await openai.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
      : await openai.chat.completions.create(params);
    const {
      content,
      tool_calls: calls,
      reasoning,
      reasoning_content,
      reasoning_details: details = [],
    } = completion.choices[0]!.message as any;
    const raw = {
      ...(reasoning !== undefined && { reasoning, reasoning_content }),
      ...(details.length > 0 && { reasoning_details: details }),
    };
    const thoughts =
      details.length === 0 && reasoning !== undefined
        ? [{ text: reasoning, opaque: null }]
        : details.map(({ text, summary, signature, data }: any) => ({
            text: text ?? summary?.join('\n\n') ?? '',
            opaque: signature ?? data ?? null,
          }));
    return {
      text: content ?? '',
      call: calls?.[0] === undefined ? null : { id: calls[0].id, arguments: calls[0].function.arguments },
      thoughts: thoughts.map((thought: object) => ({ ...thought, door: 'chat', raw })),
    };
  },

  async messages({ model, turns, isStream }) {
    const messages = turns.map((turn, at): any[] => {
      if ('user' in turn) return [{ role: 'user', content: [{ type: 'text', text: turn.user }] }];
      const { thoughts, call, result } = turn;
      const blocks = thoughts.map(({ text, opaque, door, raw }) =>
        door === 'messages'
          ? raw
          : text === ''
            ? { type: 'redacted_thinking', data: opaque }
            : { type: 'thinking', thinking: text, signature: opaque ?? '' },
      );
      const next = turns[at + 1];
      const word = next !== undefined && 'user' in next ? [{ type: 'text', text: next.user }] : [];
      return [
        { role: 'assistant', content: [...blocks, { type: 'tool_use', id: call!.id, name: 'look', input: JSON.parse(call!.arguments) }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call!.id, content: result }, ...word] },
      ];
    });
    // a text after a result is in the message of the result
    const whole = messages.flatMap((some, at) => (at > 0 && 'user' in turns[at]! ? [] : some));
    const params: Anthropic.MessageCreateParamsNonStreaming = {
      model,
      messages: whole,
      max_tokens: 4096,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
      tools: [{ name: 'look', input_schema: parameters }],
    };
    const { content } = isStream ? await anthropic.messages.stream(params).finalMessage() : await anthropic.messages.create(params);
    const use = content.find((block) => block.type === 'tool_use');
    const thoughts = content.flatMap((block): Thought[] => {
      if (block.type === 'thinking') return [{ text: block.thinking, opaque: block.signature, door: 'messages', raw: block }];
      return block.type === 'redacted_thinking' ? [{ text: '', opaque: block.data, door: 'messages', raw: block }] : [];
    });
    return {
      thoughts,
      call: use === undefined ? null : { id: use.id, arguments: JSON.stringify(use.input) },
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    };
  },

  async responses({ model, turns, isStream }) {
    const input = turns.flatMap((turn): any[] => {
      if ('user' in turn) return [{ role: 'user', content: turn.user }];
      const { thoughts, call, result } = turn;
      const items = thoughts.map(({ text, opaque, door, raw }) =>
        door === 'responses'
          ? raw
          : {
              type: 'reasoning',
              summary: text === '' ? [] : [{ type: 'summary_text', text }],
              ...(opaque !== null && { encrypted_content: opaque }),
            },
      );
      return [
        ...items,
        { type: 'function_call', call_id: call!.id, name: 'look', arguments: call!.arguments },
        { type: 'function_call_output', call_id: call!.id, output: result },
      ];
    });
    const params = {
      model,
      input,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'low' as const },
      tools: [{ type: 'function' as const, name: 'look', parameters, strict: false }],
    };
    const { output, output_text: text }: OpenAI.Responses.Response = isStream
      ? await openai.responses.stream({ ...params, stream: true }).finalResponse()
      : await openai.responses.create(params);
    const call = output.find((item) => item.type === 'function_call');
    const thoughts = output.flatMap((item): Thought[] =>
      item.type === 'reasoning'
        ? [
            {
              text: item.summary.map((part) => part.text).join('\n\n'),
              opaque: item.encrypted_content ?? null,
              door: 'responses',
              raw: item,
            },
          ]
        : [],
    );
    return { thoughts, call: call === undefined ? null : { id: call.call_id, arguments: call.arguments }, text };
  },
};

type Leg = readonly [Door, Vendor];

/** Twenty turns, five for each leg. @param words whether the user sends a text at each change */
async function walk(legs: readonly Leg[], words: boolean): Promise<string> {
  const turns: Turn[] = [{ user: 'Read the pages.' }];
  for (let at = 1; at <= 20; at++) {
    const [door, model] = legs[Math.floor((at - 1) / 5)]!;
    const answer = await asksBy[door]({ model, turns, isStream: at % 2 === 0 });
    if (answer.call === null) return answer.text;
    turns.push({ ...answer, result: at === 19 ? 'It is enough.' : `Page ${at}.` });
    if (words && at % 5 === 0) turns.push({ user: 'Go on.' });
  }
  return 'The model calls its tool for ever.';
}

const walks: readonly (readonly Leg[])[] = [
  [
    ['chat', 'claude'],
    ['messages', 'openai'],
    ['responses', 'gemini'],
    ['messages', 'claude'],
  ],
  [
    ['messages', 'openai'],
    ['responses', 'claude'],
    ['chat', 'gemini'],
    ['chat', 'openai'],
  ],
  [
    ['responses', 'gemini'],
    ['chat', 'openai'],
    ['messages', 'deepseek'],
    ['messages', 'gemini'],
  ],
  [
    ['messages', 'deepseek'],
    ['chat', 'claude'],
    ['responses', 'openai'],
    ['responses', 'deepseek'],
  ],
  [
    ['messages', 'claude'],
    ['chat', 'deepseek'],
    ['messages', 'gemini'],
    ['responses', 'claude'],
  ],
  [
    ['responses', 'openai'],
    ['messages', 'gemini'],
    ['chat', 'claude'],
    ['messages', 'openai'],
  ],
  [
    ['chat', 'gemini'],
    ['responses', 'deepseek'],
    ['messages', 'claude'],
    ['responses', 'gemini'],
  ],
];

const named = (legs: readonly Leg[]): string => legs.map(([door, vendor]) => `${vendor} by ${door}`).join(', ');

describe.each([
  ['within one loop', 0, false],
  ['and the user says something at each change', 0, true],
  // chat completions gives the string of the provider itself, and the rest of the state beside it, for which other endpoints have no field
  ['at a gateway that remembers nothing', 1, false],
] as const)('twenty turns with tools, %s', (_, at, words) => {
  beforeAll(() => askAt(gateways[at]!));

  test.each(walks.filter((legs) => at === 0 || legs[0]![0] !== 'chat').map((legs) => [named(legs), legs] as const))(
    '%s: no provider refuses a turn, and the first one gets its reasoning back at the end',
    async (__, legs) => {
      const [, vendor] = legs[0]!;
      const { asked, statesIn } = vendors[vendor];
      const before = vendors[vendor].issued.length;
      expect(await walk(legs, words)).toBe('Done.');
      expect(Object.values(vendors).flatMap((one) => one.refused)).toEqual([]);
      const own = vendors[vendor].issued.slice(before);
      // wire: Claude thinks with a budget only where the turn began with thinking of its own, and
      // a result with words beside it goes on with the turn before (Anthropic: Extended thinking)
      const thinksAgain = !(words && vendor === 'claude');
      expect(own.length).toBe(thinksAgain ? 10 : 5);
      // the reasoning of the last answer has not been sent yet
      expect(statesIn(asked.at(-1)!.text)).toEqual(thinksAgain ? own.slice(0, 9) : own);
    },
  );
});
