/** The conversation: messages that are lists of blocks, as messages of the form in the middle. */
import type { Adjustment, ContentPart, Message, ReasoningDetail, ToolCall } from '../../../../core/chat.ts';
import { type Check, list, missing, object, optional, text, wrongType, wrongValue } from '../../../../core/wire/checks.ts';
import type { Fields } from '../../../../core/wire/fields.ts';
import { fromOpaque } from '../../../../core/wire/opaque.ts';
import { contentOf, markOf, nativeOf, part, shortened, withoutMark } from './parts.ts';

/** The conversation, and what could not be read of it. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly adjustments: readonly Adjustment[];
}

/** Reads `system` and `messages`. */
export function conversationOf(system: unknown, messages: unknown): Conversation {
  if (messages === undefined || messages === null) throw missing('messages', 'the conversation, an array of {role, content}');
  const given = list('messages', messages);
  if (given.length === 0) throw wrongValue('messages', 'must hold at least one message');
  const instructions = optional('system', system, contentOf);
  const read = given.map((one, at) => message(`messages[${at}]`, one));
  return {
    messages: [...(instructions === null || instructions.length === 0 ? [] : [{ role: 'system' as const, content: instructions }]), ...read.flatMap((one) => one.messages)],
    adjustments: read.some(({ isStrange }) => isStrange) ? [{ parameter: 'messages.content.signature', change: 'dropped: not issued by this gateway' }] : [],
  };
}

interface Read {
  readonly messages: readonly Message[];
  /** It has reasoning state whose issuer nobody knows. */
  readonly isStrange?: boolean;
}

const message: Check<Read> = (param, value) => {
  const { role, content } = object(param, value);
  if (role === undefined) throw missing(`${param}.role`, '"user" or "assistant"');
  if (content === undefined) throw missing(`${param}.content`, 'a string, or an array of blocks');
  const read = roles.get(text(`${param}.role`, role));
  if (read === undefined) throw wrongValue(`${param}.role`, 'must be "user" or "assistant"');
  return read(`${param}.content`, content);
};

const roles: ReadonlyMap<string, Check<Read>> = new Map<string, Check<Read>>([
  ['user', userTurn],
  ['assistant', assistantTurn],
  ['system', (param, content) => ({ messages: [{ role: 'system', content: contentOf(param, content) }] })],
]);

/** Tool results are messages of their own. They come first, because they answer the calls of the turn before. */
function userTurn(param: string, content: unknown): Read {
  if (!Array.isArray(content)) return { messages: [{ role: 'user', content: contentOf(param, content) }] };
  const results: Message[] = [];
  const parts: ContentPart[] = [];
  for (const [at, value] of (content as unknown[]).entries()) {
    const where = `${param}[${at}]`;
    const block = object(where, value);
    if (block['type'] === 'tool_result') results.push(resultOf(where, block));
    else parts.push(part(where, block));
  }
  return { messages: parts.length === 0 && results.length > 0 ? results : [...results, { role: 'user', content: shortened(parts) }] };
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

function assistantTurn(param: string, content: unknown): Read {
  if (!Array.isArray(content)) return { messages: [{ role: 'assistant', content: contentOf(param, content) }] };
  const turn = new AssistantTurn();
  for (const [at, value] of (content as unknown[]).entries()) turn.add(`${param}[${at}]`, object(`${param}[${at}]`, value));
  return turn.read();
}

/** An assistant's turn, block by block. */
class AssistantTurn {
  readonly #parts: ContentPart[] = [];
  readonly #calls: ToolCall[] = [];
  readonly #details: ReasoningDetail[] = [];
  readonly #thoughts: string[] = [];
  #characters = 0;
  #isStrange = false;

  add(param: string, block: Fields): void {
    switch (text(`${param}.type`, block['type'])) {
      case 'text':
        return this.#addText(part(param, block));
      case 'thinking':
        return this.#addThinking(param, block);
      case 'redacted_thinking':
        return this.#addState({ opaque: text(`${param}.data`, block['data']), strange: 'data' });
      case 'tool_use':
        this.#calls.push(callOf(param, block));
        return;
      default:
        // blocks of tools that the provider ran, such as a search: another provider answers without them
        this.#parts.push({ type: String(block['type']), ...markOf(block), native: { fields: withoutMark(block), isAll: true, lost: [`messages.content.${String(block['type']).slice(0, 64)}`] } });
    }
  }

  #addText(said: ContentPart): void {
    this.#parts.push(said);
    this.#characters += said.text?.length ?? 0;
  }

  #addThinking(param: string, { thinking, signature }: Fields): void {
    const thought = text(`${param}.thinking`, thinking);
    if (thought !== '') this.#thoughts.push(thought);
    this.#addState({ opaque: optional(`${param}.signature`, signature, text) ?? '', beside: thought, strange: 'signature' });
  }

  /** A string that this gateway did not make has an issuer whom nobody knows. The detail is kept without one, and is sent to nobody. */
  #addState({ opaque, beside, strange }: { readonly opaque: string; readonly beside?: string; readonly strange: 'signature' | 'data' }): void {
    if (opaque === '') return;
    const ours = fromOpaque(opaque, beside);
    if (ours === null) this.#isStrange = true;
    const detail: ReasoningDetail = ours ?? { type: strange === 'data' ? 'reasoning.encrypted' : 'reasoning.text', ...(beside !== undefined && { text: beside }), [strange]: opaque };
    // the mark of a thought whose provider gave no state
    if (ours !== null && ours.provider === undefined) return;
    const after = { text: this.#characters, calls: this.#calls.length, parts: this.#parts.length };
    this.#details.push(after.text + after.calls + after.parts === 0 ? detail : { ...detail, after });
  }

  read(): Read {
    const content = this.#parts.length === 0 ? null : shortened(this.#parts);
    const reasoning = this.#thoughts.join('\n\n');
    return {
      messages: [{
        role: 'assistant',
        content,
        ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
        ...(this.#details.length > 0 && { reasoning_details: this.#details }),
        ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      }],
      isStrange: this.#isStrange,
    };
  }
}

function callOf(param: string, { id, name, input, ...more }: Fields): ToolCall {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw wrongType(`${param}.input`, 'an object', input);
  return { id: text(`${param}.id`, id), type: 'function', function: { name: text(`${param}.name`, name), arguments: JSON.stringify(input) }, ...markOf(more), ...nativeOf('messages.content', more) };
}
