/**
 * Input items as messages. This API has an item for each message, call, result and thought; `core/chat.ts` has one assistant message
 * for everything that a model said in one turn. `native.fields.order` of that message says how its items followed each other.
 */
import type { Adjustment, ContentPart, Message, Native, ReasoningDetail, ToolCall } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { list, missing, optional, text, wrongType, wrongValue } from '../../../core/wire/checks.ts';
import { fields, someFields, unsupported, without } from './checks.ts';
import { content } from './content.ts';
import { additional, isCallersSearch, memberName, runByCaller, search, toolList } from './tools.ts';
import { detailIn, thoughtTexts } from './thoughts.ts';

/** One item of a turn, in the order of the items. A dialect of the same format builds the items again from it. */
type Ordered =
  /** An item that is one of the details. */
  | ({ readonly type: 'reasoning' } & Pick<ReasoningDetail, 'provider' | 'id' | 'index'>)
  /** An item with the next `parts` parts of the content. */
  | { readonly type: 'message'; readonly parts: number; readonly fields: Fields }
  | { readonly type: 'call'; readonly id: string }
  | { readonly type: 'item'; readonly item: Fields };

export interface Conversation {
  readonly messages: readonly Message[];
  readonly adjustments: readonly Adjustment[];
}

/** Reads the items of `input`. Throws a GatewayError with the path of the item at fault. */
export function messagesOf(items: readonly unknown[]): Conversation {
  const given = items.map(fieldsOf);
  const answered = new Set(given.flatMap(({ type, call_id: id }) => (type === 'custom_tool_call_output' ? [id] : [])));
  const reading = new Reading({ answered, settled: settledApprovals(given) });
  items.forEach((item, at) => reading.add(`input[${at}]`, item));
  return reading.end();
}

/**
 * The ids of the requests for an approval for which no provider has to do anything: the caller
 * refused the call, or the model went on after the approval, so the call has run.
 */
function settledApprovals(items: readonly Fields[]): ReadonlySet<unknown> {
  const lastOfModel = items.findLastIndex(({ type, role }) => type === 'mcp_call' || role === 'assistant');
  return new Set(
    items.flatMap(({ type, approval_request_id: id, approve }, at) =>
      type === approval.answer && (approve === false || at < lastOfModel) ? [id] : [],
    ),
  );
}

/** What the items of an input say about items before them. */
interface Outcomes {
  /** The ids of the calls of custom tools that have an output. */
  readonly answered: ReadonlySet<unknown>;
  /** See `settledApprovals`. */
  readonly settled: ReadonlySet<unknown>;
}

class Reading {
  readonly #outcomes: Outcomes;
  readonly #messages: Message[] = [];
  #adjustments: readonly Adjustment[] = [];
  #turn: Turn | null = null;

  constructor(outcomes: Outcomes) {
    this.#outcomes = outcomes;
  }

  add(param: string, given: unknown): void {
    const item = fields(param, given);
    const type = optional(`${param}.type`, item['type'], text) ?? 'message';
    if (type === 'message') this.#message(param, item);
    else if (type === 'item_reference') throw referenceLeft(param);
    // wire: xAI gives calls of its own searches as calls of custom tools, which never have an output (recorded)
    else if (type === 'custom_tool_call' && !this.#outcomes.answered.has(item['call_id'])) {
      this.#ensureTurn().item(without(item, 'id', 'status'), type);
    } else if (Object.hasOwn(calls, type)) this.#ensureTurn().call(callOf(param, item, calls[type as keyof typeof calls]));
    else if (Object.hasOwn(results, type)) this.#alone(resultOf(param, item, type as keyof typeof results));
    else if (type === search.call && isCallersSearch(item)) this.#ensureTurn().call(searchOf(item));
    else if (type === search.output && isCallersSearch(item)) this.#alone(foundOf(param, item));
    else if (type === 'reasoning') this.#thought(param, item);
    // wire: items of tools that ran at a provider need null fields, as `outputs` of `code_interpreter_call` (openai-node 7.57, required)
    else if (ran.has(type) || this.#isSettled(type, item)) this.#ensureTurn().item(unlisted(given as Fields), type);
    else this.#alone(unknownItem(param, runByCaller.has(type) ? without(given as Fields, 'id') : unlisted(given as Fields), type));
  }

  #isSettled(type: string, { id, approval_request_id: asked }: Fields): boolean {
    if (type !== approval.request && type !== approval.answer) return false;
    return this.#outcomes.settled.has(type === approval.request ? id : asked);
  }

  end(): Conversation {
    this.#close();
    return { messages: this.#messages, adjustments: this.#adjustments };
  }

  #message(param: string, item: Fields): void {
    const { type: _, id: _id, status: _status, role, content: said, ...more } = item;
    if (role === undefined) throw missing(`${param}.role`, 'user, assistant, system or developer');
    if (role !== 'assistant' && !roles.has(role)) throw wrongValue(`${param}.role`, 'must be user, assistant, system or developer');
    if (said === undefined) throw missing(`${param}.content`, 'a string, or an array of parts');
    const checked = content(`${param}.content`, said);
    if (role === 'assistant') {
      // replies of this door have these fields beside the annotations, and other providers refuse them
      const { images, citations: _citations, search_results: _results, ...others } = more;
      return this.#ensureTurn().message(
        typeof checked === 'string' ? [{ type: 'text', text: checked }] : checked,
        others,
        optional(`${param}.images`, images, list) ?? [],
      );
    }
    this.#alone({ role: role as Message['role'], content: checked, ...nativeOf(more, 'input') });
  }

  #thought(param: string, item: Fields): void {
    this.#ensureTurn().thought(thoughtTexts(param, item), detailIn(param, item));
  }

  #ensureTurn(): Turn {
    this.#turn ??= new Turn();
    return this.#turn;
  }

  #alone(message: Message): void {
    this.#close();
    this.#messages.push(message);
  }

  #close(): void {
    const message = this.#turn?.close() ?? null;
    if (this.#turn !== null && message === null) this.#adjustments = unfollowed;
    if (message !== null) this.#messages.push(message);
    this.#turn = null;
  }
}

const unfollowed: readonly Adjustment[] = [
  { parameter: 'input.reasoning', change: 'dropped: no text or tool call of the assistant comes after it' },
];

/** Everything that the model said between two turns of the user. */
class Turn {
  readonly #parts: ContentPart[] = [];
  readonly #calls: ToolCall[] = [];
  readonly #details: ReasoningDetail[] = [];
  readonly #thoughts: string[] = [];
  readonly #images: unknown[] = [];
  readonly #order: Ordered[] = [];
  readonly #lost = new Set<string>();

  message(parts: readonly ContentPart[], more: Fields, images: readonly unknown[]): void {
    // safety: as arguments of one `push`, the parts of a long list would overflow the stack
    for (const part of parts) this.#parts.push(part);
    for (const image of images) this.#images.push(image);
    this.#order.push({ type: 'message', parts: parts.length, fields: more });
  }

  call(call: ToolCall): void {
    this.#calls.push(call);
    this.#order.push({ type: 'call', id: call.id });
  }

  thought(texts: readonly string[], detail: ReasoningDetail | null): void {
    for (const text of texts) this.#thoughts.push(text);
    if (detail === null) return;
    this.#details.push(detail);
    const { provider, id, index } = detail;
    this.#order.push({
      type: 'reasoning',
      ...(provider !== undefined && { provider }),
      ...(id !== undefined && { id }),
      ...(index !== undefined && { index }),
    });
  }

  item(item: Fields, type: string): void {
    this.#order.push({ type: 'item', item });
    if (type !== additional) this.#lost.add(`input.${type}`);
  }

  /** Null: the turn has nothing that a provider could get. */
  close(): Message | null {
    const isSaid = this.#parts.length + this.#calls.length + this.#images.length > 0;
    if (!isSaid && !this.#order.some(({ type }) => type === 'item')) return null;
    const reasoning = this.#thoughts.join('\n\n');
    return {
      role: 'assistant',
      content: this.#content,
      ...(reasoning !== '' && { reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      ...(this.#images.length > 0 && { images: this.#images }),
      ...(!this.#isPlain && { native: { fields: { order: this.#order }, lost: [...this.#lost], ...(!isSaid && { isAll: true }) } }),
    };
  }

  /** One text is written as a string: some servers take no list. */
  get #content(): Message['content'] {
    const [first] = this.#parts;
    if (first === undefined) return null;
    return this.#parts.length === 1 && first.type === 'text' && first.native === undefined ? (first.text ?? '') : this.#parts;
  }

  /** True for one text and then calls: such a message needs no order. */
  get #isPlain(): boolean {
    return this.#order.every(
      (one, at) => one.type === 'call' || (one.type === 'message' && at === 0 && someFields(one.fields) === undefined),
    );
  }
}

const roles: ReadonlySet<unknown> = new Set(['user', 'system', 'developer']);

/** Calls, and the field in which each has its input. */
const calls = { function_call: 'arguments', custom_tool_call: 'input' } as const;

function callOf(param: string, item: Fields, field: 'arguments' | 'input'): ToolCall {
  const { type, id: _, status: _status, call_id: id, name: given, namespace, [field]: said, ...more } = item;
  const input = text(`${param}.${field}`, said);
  const name = text(`${param}.name`, given);
  const space = optional(`${param}.namespace`, namespace, text);
  const own = { ...(field === 'input' && { type }), ...(space !== null && { namespace, name }), ...more };
  return {
    id: text(`${param}.call_id`, id),
    type: 'function',
    function: { name: space === null ? name : memberName(space, name), arguments: field === 'input' ? JSON.stringify({ input }) : input },
    ...nativeOf(own, type as string, more),
  };
}

const results = { function_call_output: true, custom_tool_call_output: true } as const;

function resultOf(param: string, item: Fields, type: keyof typeof results): Message {
  const { type: _, id: _id, status: _status, call_id: id, output, ...more } = item;
  if (output === undefined) throw missing(`${param}.output`, 'the result of the call, a string or an array of parts');
  const own = { ...(type === 'custom_tool_call_output' && { type }), ...more };
  return {
    role: 'tool',
    tool_call_id: text(`${param}.call_id`, id),
    content: content(`${param}.output`, output),
    ...nativeOf(own, type, more),
  };
}

/**
 * A search for tools that the caller runs. A provider of the same form gets
 * the item as it is, without the id, which may be of another provider.
 */
function searchOf(item: Fields): ToolCall {
  const { call_id: id, arguments: asked = {} } = item;
  return {
    id: id as string,
    type: 'function',
    function: { name: search.tool, arguments: typeof asked === 'string' ? asked : JSON.stringify(asked) },
    native: { fields: { item: without(item, 'id') } },
  };
}

/** The result of a search for tools that the caller ran. The tools that it found are listed with those of the request. */
function foundOf(param: string, item: Fields): Message {
  const tools = optional(`${param}.tools`, item['tools'], toolList) ?? [];
  const found = tools.flatMap((tool) => (tool.function === undefined ? [] : [`The tool "${tool.function.name}" can be called now.`]));
  return {
    role: 'tool',
    tool_call_id: item['call_id'] as string,
    content: found.length === 0 ? 'No tool was found.' : found.join('\n'),
    native: { fields: { item: unlisted(item) } },
  };
}

/** @param lost the fields of `own` that a provider of another form does not get */
function nativeOf(own: Fields, place: string, lost: Fields = own): { native?: Native } {
  const some = someFields(own);
  return some === undefined
    ? {}
    : {
        native: {
          fields: some,
          lost: Object.keys(lost)
            .filter((field) => !quiet.has(field))
            .map((field) => `${place}.${field}`),
        },
      };
}

/** The id of an input item that had none, in the list of those of a kept response. @param hex of the id of the response */
export const listedId = (hex: string, at: number): string => `item_${hex}_${at}`;

/** The item as it was before it was listed: providers refuse ids that they do not know. */
const unlisted = (item: Fields): Fields =>
  typeof item['id'] === 'string' && /^item_[\da-f]{32}_\d+$/.test(item['id']) ? without(item, 'id') : item;

/** Fields that mean nothing to a provider of another format. `phase` says whether a message was a comment or the answer. */
const quiet: ReadonlySet<string> = new Set(['phase', 'caller', 'created_by']);

/** The items by which a provider asks whether it may call a tool of an MCP server, and the caller answers. */
const approval = { request: 'mcp_approval_request', answer: 'mcp_approval_response' } as const;

/** Items of tools that ran at a provider: another provider can continue the conversation without them. */
const ran: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  search.call,
  search.output,
  additional,
]);

/** An item that only this API knows. A provider of another form could not answer to it. */
const unknownItem = (param: string, item: Fields, type: string): Message => ({
  role: 'user',
  content: [],
  native: {
    fields: { item },
    isAll: true,
    needed: { param: `${param}.type`, message: `No provider of this model takes an input item of the type "${type.slice(0, 64)}".` },
  },
});

const referenceLeft = (param: string): Error =>
  unsupported(
    param,
    'This reference names no item of a response that the gateway keeps for this key. Send the item itself, as the response had it; with "store": false clients do so by themselves.',
  );

/** The items of an input. Throws where it is absent, or neither a text nor a list. */
export function itemsOf(input: unknown): readonly unknown[] {
  if (input === undefined || input === null) throw missing('input', 'a text, or a list of items');
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input);
  return list('input', input);
}

/** The id of an item that is only referred to; null for any other item. */
export function referenceOf(item: unknown): string | null {
  const { type, id } = fieldsOf(item);
  return type === 'item_reference' && typeof id === 'string' ? id : null;
}
