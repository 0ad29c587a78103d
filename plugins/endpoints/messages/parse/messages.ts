/** The conversation: reads messages, which are lists of blocks here, as messages of `core/chat.ts`. */
import type { ContentPart, Message, ReasoningDetail, ToolCall } from '../../../../core/chat.ts';
import { shortToolName } from '../../../../core/names.ts';
import { type Check, list, missing, object, optional, text, wrongType, wrongValue } from '../../../../core/wire/checks.ts';
import type { Fields } from '../../../../core/wire/fields.ts';
import { asGiven } from '../../../../core/wire/json.ts';
import { fromOpaque } from '../../../../core/wire/opaque.ts';
import { ownName } from './names.ts';
import { contentOf, markOf, nativeOf, part, shortened, withoutMark } from './parts.ts';

/** Reads `system` and `messages`. */
export function conversationOf(system: unknown, messages: unknown): readonly Message[] {
  if (messages === undefined || messages === null) throw missing('messages', 'the conversation, an array of {role, content}');
  const given = list('messages', messages);
  if (given.length === 0) throw wrongValue('messages', 'must hold at least one message');
  const instructions = optional('system', system, contentOf);
  const turns = given.flatMap((one, at) => turn(`messages[${at}]`, one));
  return instructions === null || instructions.length === 0 ? turns : [{ role: 'system', content: instructions }, ...turns];
}

/** A message may become several: tool results are messages of their own. */
type Turn = readonly Message[];

const turn: Check<Turn> = (param, value) => {
  const { role, content } = object(param, value);
  if (role === undefined) throw missing(`${param}.role`, '"user" or "assistant"');
  if (content === undefined) throw missing(`${param}.content`, 'a string, or an array of blocks');
  const read = roles.get(text(`${param}.role`, role));
  if (read === undefined) throw wrongValue(`${param}.role`, 'must be "user" or "assistant"');
  return read(`${param}.content`, content);
};

const roles: ReadonlyMap<string, Check<Turn>> = new Map<string, Check<Turn>>([
  ['user', userTurn],
  ['assistant', assistantTurn],
  ['system', (param, content) => [{ role: 'system', content: contentOf(param, content) }]],
]);

/** Tool results are messages of their own. They come first, because they answer the calls of the turn before. */
function userTurn(param: string, content: unknown): Turn {
  if (!Array.isArray(content)) return [{ role: 'user', content: contentOf(param, content) }];
  const results: Message[] = [];
  const parts: ContentPart[] = [];
  for (const [at, value] of (content as unknown[]).entries()) {
    const where = `${param}[${at}]`;
    const block = object(where, value);
    if (block['type'] === 'tool_result') results.push(resultOf(where, block));
    else parts.push(part(where, block));
  }
  return parts.length === 0 && results.length > 0 ? results : [...results, { role: 'user', content: shortened(parts) }];
}

function resultOf(param: string, { tool_use_id: id, content, is_error: isError, ...more }: Fields): Message {
  return {
    role: 'tool',
    tool_call_id: text(`${param}.tool_use_id`, id),
    content: optional(`${param}.content`, content, contentOf) ?? '',
    ...(isError === true && { is_error: true }),
    ...markOf(more),
    ...nativeOf('messages.content', more),
  };
}

function assistantTurn(param: string, content: unknown): Turn {
  if (!Array.isArray(content)) return [{ role: 'assistant', content: contentOf(param, content) }];
  const said = new Said();
  for (const [at, value] of (content as unknown[]).entries()) said.add(`${param}[${at}]`, object(`${param}[${at}]`, value));
  return [said.message()];
}

/** The content of an assistant message, block by block. */
class Said {
  readonly #parts: ContentPart[] = [];
  readonly #calls: ToolCall[] = [];
  readonly #details: ReasoningDetail[] = [];
  readonly #thoughts: string[] = [];
  #characters = 0;

  add(param: string, block: Fields): void {
    switch (text(`${param}.type`, block['type'])) {
      case 'text':
        return this.#addText(part(param, block));
      case 'thinking':
        return this.#addThinking(param, block);
      case 'redacted_thinking':
        return this.#addState(text(`${param}.data`, block['data']), (data) => fromOpaque(data) ?? { type: 'reasoning.encrypted', data });
      case 'tool_use':
        this.#calls.push(callOf(param, block));
        return;
      case 'compaction':
        return this.#addSummary(block);
      default:
        return this.#addForeign(block);
    }
  }

  /** wire: a summary replaces everything before it, which clients may then leave out (Anthropic: Compaction) */
  #addSummary(block: Fields): void {
    const { content: summary } = block;
    if (typeof summary !== 'string' || summary === '') return this.#addForeign(block);
    this.#addText({ type: 'text', text: summary, ...markOf(block), native: { fields: withoutMark(block) } });
  }

  /** Blocks of tools that the provider ran, such as a search: another provider answers without them. */
  #addForeign(block: Fields): void {
    const type = String(block['type']);
    this.#parts.push({
      type,
      ...markOf(block),
      native: { fields: withoutMark(block), isAll: true, afterCalls: this.#calls.length, lost: [`messages.content.${type.slice(0, 64)}`] },
    });
  }

  #addText(said: ContentPart): void {
    this.#parts.push(said);
    this.#characters += said.text?.length ?? 0;
  }

  #addThinking(param: string, { thinking, signature }: Fields): void {
    const thought = text(`${param}.thinking`, thinking);
    if (thought !== '') this.#thoughts.push(thought);
    this.#addState(
      optional(`${param}.signature`, signature, text) ?? '',
      (state) => fromOpaque(state, thought) ?? { type: 'reasoning.text', text: thought, signature: state },
    );
  }

  /** A string that this gateway did not make has an unknown issuer: its detail names no provider, so it is sent to none. */
  #addState(state: string, detailOf: (state: string) => ReasoningDetail): void {
    if (state === '') return;
    const detail = detailOf(state);
    // the mark of a thought whose provider gave no state
    if (detail.signature === undefined && detail.data === undefined && detail.provider === undefined) return;
    const after = { text: this.#characters, calls: this.#calls.length, parts: this.#parts.length };
    this.#details.push(after.text + after.calls + after.parts === 0 ? detail : { ...detail, after });
  }

  message(): Message {
    const reasoning = this.#thoughts.join('\n\n');
    return {
      role: 'assistant',
      content: this.#parts.length === 0 ? null : shortened(this.#parts),
      ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
  }
}

function callOf(param: string, { id, name, input, ...more }: Fields): ToolCall {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw wrongType(`${param}.input`, 'an object', input);
  const own = text(`${param}.name`, name);
  return {
    id: text(`${param}.id`, id),
    type: 'function',
    function: { name: shortToolName(own), arguments: asGiven(input) },
    ...markOf(more),
    ...ownName(own, nativeOf('messages.content', more).native),
  };
}
