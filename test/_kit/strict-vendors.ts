/**
 * Providers of four wire formats that check the state of a tool loop as the vendors do: state that
 * they did not issue, or that is at another place, is a 400. Each answer has a thought of its own.
 */
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { startUpstream } from './upstream.ts';
import type { Asked, ScriptedUpstream } from './upstream.ts';

export type Vendor = 'claude' | 'openai' | 'gemini' | 'deepseek';

export interface StrictVendor extends ScriptedUpstream {
  /** The state that was issued, in order. */
  readonly issued: readonly string[];
  /** The refused requests, and why. */
  readonly refused: string[];
  /** The issued states that are in this request. */
  statesIn(text: string): readonly string[];
}

export interface Call {
  readonly name: string;
  readonly input: object;
}

/** The input of the model: the names of its tools, and the results so far as JSON. */
export interface Scene {
  readonly tools: readonly string[];
  readonly results: readonly string[];
}

/** The tool calls of the model; null: it gives its final answer. */
export type Script = (scene: Scene) => Call | null;

/** The answer of a vendor: a thought, and then a call or, where `call` is null, a final text. */
interface Said {
  readonly thought: string;
  readonly state: string;
  readonly call: (Call & { readonly id: string }) | null;
}

interface Form {
  /** Throws the error of the vendor. @param memory the state that was issued */
  check(body: any, memory: Memory): void;
  thinks(body: any): boolean;
  scene(body: any): { readonly tools: readonly any[]; readonly results: readonly any[] };
  write(response: ServerResponse, said: Said, isStream: boolean): void;
  refusal(message: string): object;
}

/** The state that a vendor issued: the thought of each state, and the thought of each call. */
class Memory {
  readonly #key: string;
  readonly states = new Map<string, string>();
  readonly calls = new Map<string, Said>();

  constructor(vendor: string) {
    this.#key = vendor;
  }

  /** wire: state is base64 that only the issuer can read. */
  issue(thought: string, call: Said['call']): Said {
    const said = { thought, state: createHmac('sha256', this.#key).update(thought).digest('base64'), call };
    this.states.set(said.state, thought);
    if (call !== null) this.calls.set(call.id, said);
    return said;
  }
}

const must = (holds: unknown, message: string): void => {
  if (holds !== true) throw new Error(message);
};

const eventStream = (response: ServerResponse, events: readonly object[], { named, end = '' }: { named: boolean; end?: string }): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    response.write(`${named ? `event: ${(event as { type: string }).type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(end);
};

const json = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** wire: Anthropic: Extended thinking, Tool use. */
const claude: Form = {
  check({ messages, thinking, max_tokens: most }, { states }) {
    for (const [at, { role, content }] of messages.entries()) {
      must(role === (at % 2 === 0 ? 'user' : 'assistant'), `messages.${at}: roles must alternate`);
      const blocks: readonly any[] = Array.isArray(content) ? content : [];
      for (const block of blocks) {
        if (block.type === 'thinking') {
          must(states.get(block.signature) === block.thinking, `messages.${at}: Invalid \`signature\` in \`thinking\` block`);
        }
        if (block.type === 'redacted_thinking') {
          must(states.has(block.data), `messages.${at}: Invalid \`data\` in \`redacted_thinking\` block`);
        }
        if (block.type === 'tool_use') must(/^[\w-]{1,64}$/.test(block.id), `messages.${at}: tool_use.id: String should match pattern`);
      }
      const uses = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
      const next: readonly any[] = Array.isArray(messages[at + 1]?.content) ? messages[at + 1].content : [];
      if (role === 'assistant') {
        must(
          uses.every((id) => next.some(({ tool_use_id: of }) => of === id)),
          `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
        );
      }
    }
    if (thinking?.type !== 'enabled') return;
    must(most > thinking.budget_tokens, '`max_tokens` must be greater than `thinking.budget_tokens`');
    const last = messages.at(-1).content;
    if (!Array.isArray(last) || !last.some(({ type }) => type === 'tool_result')) return;
    // all messages of a loop are one turn, and it must begin with thinking
    const begin =
      messages
        .slice(0, -1)
        .findLastIndex(
          ({ role, content }: any) => role === 'user' && (typeof content === 'string' || content.some(({ type }: any) => type === 'text')),
        ) + 1;
    must(
      messages[begin].content[0].type.endsWith('thinking'),
      `messages.${begin}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\``,
    );
  },
  thinks: ({ thinking }) => thinking !== undefined && thinking.type !== 'disabled',
  scene: ({ tools = [], messages }) => ({
    tools,
    results: messages
      .flatMap(({ content }: any) => (Array.isArray(content) ? content : []))
      .filter(({ type }: any) => type === 'tool_result'),
  }),
  write(response, { thought, state, call }, isStream) {
    const thinking = thought === '' ? [] : [{ type: 'thinking', thinking: thought, signature: state }];
    const content: readonly any[] = [...thinking, call === null ? { type: 'text', text: 'Done.' } : { type: 'tool_use', ...call }];
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      stop_reason: call === null ? 'end_turn' : 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 9 },
    };
    if (!isStream) return json(response, { ...message, content });
    const pieces = content.flatMap((block, index) => {
      const empty = { thinking: { thinking: '', signature: '' }, text: { text: '' }, tool_use: { input: {} } }[block.type as 'text'];
      const deltas: object[] =
        block.type === 'thinking'
          ? [
              { type: 'thinking_delta', thinking: thought },
              { type: 'signature_delta', signature: state },
            ]
          : block.type === 'text'
            ? [{ type: 'text_delta', text: block.text }]
            : [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }];
      return [
        { type: 'content_block_start', index, content_block: { ...block, ...empty } },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ];
    });
    return eventStream(
      response,
      [
        { type: 'message_start', message: { ...message, stop_reason: null, content: [] } },
        ...pieces,
        { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } },
        { type: 'message_stop' },
      ],
      { named: true },
    );
  },
  refusal: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
};

/** wire: OpenAI: Reasoning models, Responses. */
const openai: Form = {
  check({ input }, { states, calls }) {
    const items = input as readonly any[];
    for (const [at, item] of items.entries()) {
      const next = items[at + 1];
      if (item.type === 'reasoning') {
        must(states.has(item.encrypted_content), `input[${at}]: The encrypted content could not be verified.`);
        must(
          next?.type !== 'function_call' || calls.get(next.call_id)?.state === item.encrypted_content,
          `input[${at}]: Item of type 'reasoning' was provided without its required following item.`,
        );
        must(
          next?.type === 'function_call' || next?.role === 'assistant',
          `input[${at}]: Item of type 'reasoning' was provided without its required following item.`,
        );
      }
      if (item.type === 'function_call') {
        must(item.call_id.length <= 64, `input[${at}].call_id: string too long`);
        must(
          items.some(({ type, call_id: of }) => type === 'function_call_output' && of === item.call_id),
          `No tool output found for function call ${item.call_id}.`,
        );
      }
      if (item.type === 'function_call_output') {
        must(
          items.slice(0, at).some(({ type, call_id: of }) => type === 'function_call' && of === item.call_id),
          `No tool call found for function call output with call_id ${item.call_id}.`,
        );
      }
    }
  },
  thinks: () => true,
  scene: ({ tools = [], input }) => ({ tools, results: input.filter(({ type }: any) => type?.endsWith('call_output') === true) }),
  write(response, { thought, state, call }, isStream) {
    const reasoning = {
      id: `rs_${state.slice(0, 8)}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thought }],
      encrypted_content: state,
    };
    const second =
      call === null
        ? {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
          }
        : {
            id: `fc_${call.id}`,
            type: 'function_call',
            call_id: call.id,
            name: call.name,
            arguments: JSON.stringify(call.input),
            status: 'completed',
          };
    const body = {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'gpt-5.1',
      output: [reasoning, second],
      usage: { input_tokens: 9, output_tokens: 9, total_tokens: 18 },
    };
    if (!isStream) return json(response, body);
    const about = { item_id: second.id, output_index: 1 };
    const said =
      call === null
        ? [{ type: 'response.output_text.delta', ...about, content_index: 0, delta: 'Done.' }]
        : [{ type: 'response.function_call_arguments.delta', ...about, delta: JSON.stringify(call.input) }];
    const events = [
      { type: 'response.created', response: { ...body, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [], encrypted_content: '' } },
      { type: 'response.reasoning_summary_text.delta', item_id: reasoning.id, output_index: 0, summary_index: 0, delta: thought },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      {
        type: 'response.output_item.added',
        output_index: 1,
        item: { ...second, status: 'in_progress', ...(call === null ? { content: [] } : { arguments: '' }) },
      },
      ...said,
      { type: 'response.output_item.done', output_index: 1, item: second },
      { type: 'response.completed', response: body },
    ];
    return eventStream(
      response,
      events.map((event, at) => ({ ...event, sequence_number: at })),
      { named: true },
    );
  },
  refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: 'input', code: null } }),
};

/** wire: Gemini API: Thought signatures. */
const gemini: Form = {
  check({ contents }, { states }) {
    const turns = contents as readonly any[];
    const loop = turns.findLastIndex(({ role, parts }) => role === 'user' && parts.some((part: any) => part.text !== undefined));
    for (const [at, { role, parts }] of turns.entries()) {
      must(role === (at % 2 === 0 ? 'user' : 'model'), `contents[${at}]: a function call turn comes immediately after a user turn`);
      for (const { thoughtSignature: state } of parts) {
        must(
          state === undefined || state === 'skip_thought_signature_validator' || states.has(state),
          `contents[${at}]: Thought signature is not valid.`,
        );
      }
      const calls = parts.filter(({ functionCall: call }: any) => call !== undefined);
      if (role === 'model' && at > loop && calls.length > 0) {
        must(
          calls[0].thoughtSignature !== undefined,
          `contents[${at}]: Function call is missing a thought_signature in functionCall parts.`,
        );
      }
      const results = (turns[at + 1]?.parts ?? []).filter(({ functionResponse: result }: any) => result !== undefined);
      if (role === 'model') {
        must(
          results.length === calls.length,
          `contents[${at}]: the number of function response parts must equal that of function call parts`,
        );
      }
    }
  },
  thinks: () => true,
  scene: ({ tools = [], contents }) => ({
    tools: tools.flatMap(({ functionDeclarations: list = [] }: any) => list),
    results: contents.flatMap(({ parts }: any) => parts).filter(({ functionResponse: result }: any) => result !== undefined),
  }),
  write(response, { thought, state, call }, isStream) {
    const parts = [
      { text: thought, thought: true },
      call === null
        ? { text: 'Done.', thoughtSignature: state }
        : { functionCall: { id: call.id, name: call.name, args: call.input }, thoughtSignature: state },
    ];
    const body = (some: readonly object[]): object => ({
      candidates: [{ index: 0, content: { role: 'model', parts: some }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9, totalTokenCount: 18 },
    });
    return isStream
      ? eventStream(
          response,
          [{ candidates: [{ index: 0, content: { role: 'model', parts: parts.slice(0, 1) } }] }, body(parts.slice(1))],
          { named: false },
        )
      : json(response, body(parts));
  },
  refusal: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
};

/** wire: DeepSeek: Thinking mode, tool calls. */
const deepseek: Form = {
  check({ messages }, { calls }) {
    const open = new Set<string>();
    for (const [at, { role, tool_calls: list = [], reasoning_content: thought, tool_call_id: of }] of messages.entries()) {
      if (role === 'tool') {
        must(open.delete(of), `messages[${at}]: role 'tool' must be a response to a preceding message with 'tool_calls'`);
      } else must(open.size === 0, `messages[${at}]: insufficient tool messages following tool_calls message`);
      for (const { id } of list) {
        open.add(id);
        const said = calls.get(id);
        if (said !== undefined) {
          must(thought === said.thought, `messages[${at}]: Missing \`reasoning_content\` field in the assistant message`);
        }
      }
    }
  },
  thinks: () => true,
  scene: ({ tools = [], messages }) => ({
    tools: tools.map(({ function: own }: any) => own),
    results: messages.filter(({ role }: any) => role === 'tool'),
  }),
  write(response, { thought, call }, isStream) {
    const base = { id: 'c1', created: 1, model: 'deepseek-v4-pro' };
    const calls =
      call === null ? [] : [{ id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } }];
    const reason = call === null ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 };
    const rest = call === null ? { content: 'Done.' } : { tool_calls: calls.map((one, index) => ({ index, ...one })) };
    if (!isStream) {
      return json(response, {
        ...base,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: call === null ? 'Done.' : '',
              reasoning_content: thought,
              ...(call !== null && { tool_calls: calls }),
            },
            finish_reason: reason,
          },
        ],
        usage,
      });
    }
    const chunk = (delta: object, finish: string | null = null): object => ({
      ...base,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...(finish !== null && { usage }),
    });
    return eventStream(response, [chunk({ role: 'assistant', reasoning_content: thought }), chunk(rest), chunk({}, reason)], {
      named: false,
      end: 'data: [DONE]\n\n',
    });
  },
  refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' } }),
};

const forms: Readonly<Record<Vendor, Form>> = { claude, openai, gemini, deepseek };

export async function startStrictVendor(vendor: Vendor, script: Script): Promise<StrictVendor> {
  const form = forms[vendor];
  const memory = new Memory(vendor);
  const refused: string[] = [];
  let count = 0;
  const answer = (response: ServerResponse, { json: body, url }: Asked): void => {
    if (url.endsWith('/count_tokens')) return json(response, { input_tokens: JSON.stringify(body).length });
    try {
      form.check(body, memory);
    } catch (error) {
      refused.push((error as Error).message);
      return void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify(form.refusal((error as Error).message)));
    }
    count += 1;
    const thought = form.thinks(body) ? `The ${count}. thought of ${vendor}.` : '';
    const { tools, results } = form.scene(body);
    const next = script({ tools: tools.map(({ name }) => name), results: results.map((result) => JSON.stringify(result)) });
    const call = next === null ? null : { id: `call_${vendor}_${count}`, ...next };
    const said = thought === '' ? { thought, state: '', call } : memory.issue(thought, call);
    form.write(response, said, body.stream === true || url.includes('streamGenerateContent'));
  };
  const upstream = await startUpstream(answer);
  const issued = (): string[] => [...memory.states.keys()];
  return {
    ...upstream,
    refused,
    get issued() {
      return issued();
    },
    statesIn: (text) => issued().filter((state) => text.includes(vendor === 'deepseek' ? (memory.states.get(state) as string) : state)),
  };
}
