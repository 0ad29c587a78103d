/** Encodes a conversation for Converse, in which user and assistant alternate and each block is an object with one key. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import { fieldsOf, listOf, textOf } from '../../../core/wire/fields.ts';
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { partsOf, type Turn, type Turns, turnsOf, withPairedResults } from '../../../core/wire/turns.ts';
import { argumentsIn, CallIds, lettersAndDigits, nineCharacters } from '../families/calls.ts';
import { refusesPrefill } from '../families/claude.ts';
import { cutAt } from '../families/thinking-blocks.ts';
import type { CachePoints } from './cache-points.ts';
import { type Block, documentBlock, type DocumentNames, imageBlock, unsupported } from './media.ts';
import { modelClassOf } from './models.ts';
import { type Thought, thoughtsOf } from './replay.ts';

/** A message of Converse. */
export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}

/** The caller's messages, and their turns. */
export interface Conversation extends Turns {
  readonly messages: readonly Message[];
}

/** What the encoding of a message depends on. */
export interface MessageWays {
  readonly target: Target;
  /**
   * True if the request declares tools. Else calls and results go out as text,
   * because Converse refuses their blocks (wire: Amazon Bedrock: Tool use).
   */
  readonly hasTools: boolean;
  /** True if the model may think in this request. */
  readonly thinks: boolean;
  readonly cachePoints: CachePoints;
  readonly adjust: Adjust;
}

/** Groups messages into turns. */
export function readConversation(messages: readonly Message[], adjust: MessageWays['adjust']): Conversation {
  const marked = withPairedResults(messages, adjust).map(withMarkedPart);
  return { ...turnsOf(marked), messages: marked };
}

/** Moves `cache_control` from a whole message to its last part. */
function withMarkedPart(message: Message): Message {
  const { role, cache_control: control } = message;
  const parts = control === undefined || role === 'assistant' ? [] : partsOf(message);
  return parts.length === 0
    ? message
    : { ...message, content: parts.map((part, at) => (at === parts.length - 1 ? { cache_control: control, ...part } : part)) };
}

/** Encodes a conversation as `system` and `messages`. Throws `unsupported_value` with the path of a part that cannot be sent. */
export function encodeConversation(
  { messages: said, system, turns }: Conversation,
  ways: MessageWays,
): { readonly system: readonly Block[]; readonly messages: readonly WireMessage[] } {
  if (said.some(({ role, name }) => role !== 'tool' && textOf(name) !== null)) ways.adjust('messages.name', 'dropped');
  // wire: only a user message takes images (Amazon Bedrock: ImageBlock), and the images of an answer are in an assistant message
  if (said.some(({ images }) => listOf(images).length > 0)) ways.adjust('messages.images', 'dropped');
  const writer = new Writer(said, ways);
  const leading = writer.parts(system, 'a system message');
  const messages: WireMessage[] = [];
  for (const [at, turn] of turns.entries()) {
    if (turn.role === 'user') add(messages, { role: 'user', content: writer.userBlocks(turn) });
    else {
      add(messages, {
        role: 'assistant',
        content: turn.messages.flatMap((message) => writer.assistantBlocks(message, at === turns.length - 1)),
      });
    }
  }
  if (messages.length === 0) {
    ways.adjust('messages', leading.length > 0 ? 'instructions sent as the user' : 'an empty user message filled in');
    return { system: [], messages: [{ role: 'user', content: leading.length > 0 ? leading : [{ text: '…' }] }] };
  }
  if (modelClassOf(ways.target).family === 'claude' && refusesPrefill(ways.target)) endAsUser(messages, ways);
  trimEnd(messages, ways);
  const sent = modelClassOf(ways.target).refusesMixing === true ? apart(messages, ways) : messages;
  if (sent[0]?.role !== 'assistant') return { system: leading, messages: sent };
  // wire: a conversation must begin with a user message (Amazon Bedrock: error text "A conversation must start with a user message")
  ways.adjust('messages', 'a user message put first');
  return { system: leading, messages: [{ role: 'user', content: [{ text: '…' }] }, ...sent] };
}

/**
 * Adds a message.
 * wire: an empty assistant message is a 400 (Amazon Bedrock: Message), so it is left out, and its neighbours become one message.
 */
function add(messages: WireMessage[], message: WireMessage): void {
  const last = messages.at(-1);
  if (message.role === 'assistant' && message.content.length === 0) return;
  if (last?.role === message.role) for (const block of message.content) last.content.push(block);
  else messages.push(message);
}

/** Puts a message of the user behind a last message of the assistant. */
function endAsUser(messages: WireMessage[], { adjust }: MessageWays): void {
  if (messages.at(-1)?.role !== 'assistant') return;
  adjust('messages', 'a user message put last');
  messages.push({ role: 'user', content: [{ text: '…' }] });
}

const isOfTool = (block: Block): boolean => 'toolUse' in block || 'toolResult' in block;

/**
 * The messages with tool calls and tool results in separate messages: calls after the text of
 * their message, results before it. A message `…` of the other role is put between the two.
 */
function apart(messages: readonly WireMessage[], { adjust }: MessageWays): readonly WireMessage[] {
  return messages.flatMap(({ role, content }) => {
    const ofTools = content.filter(isOfTool);
    if (ofTools.length === 0 || ofTools.length === content.length) return [{ role, content }];
    adjust('messages', 'texts set apart from tool calls and results');
    const said: WireMessage = { role, content: content.filter((block) => !isOfTool(block)) };
    const called: WireMessage = { role, content: ofTools };
    const between: WireMessage = { role: role === 'user' ? 'assistant' : 'user', content: [{ text: '…' }] };
    return role === 'user' ? [called, between, said] : [said, between, called];
  });
}

/**
 * wire: a last assistant text that ends with white space is a 400 at Claude
 * (Anthropic: Errors, "final assistant content cannot end with trailing whitespace").
 */
function trimEnd(messages: readonly WireMessage[], { adjust }: MessageWays): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  const at = last.content.findLastIndex((block) => !('cachePoint' in block));
  const text = last.content[at]?.['text'];
  if (typeof text !== 'string' || text === text.trimEnd()) return;
  adjust('messages', 'trailing white space removed');
  last.content[at] = { text: text.trimEnd() };
}

/** Writes the blocks of one request. */
class Writer {
  readonly #messages: readonly Message[];
  readonly #ways: MessageWays;
  readonly #documentNames: DocumentNames = new Map();
  readonly #toolNames = new Map<string, string>();
  readonly #callIds: CallIds;

  constructor(messages: readonly Message[], ways: MessageWays) {
    this.#messages = messages;
    this.#ways = ways;
    this.#callIds = new CallIds(modelClassOf(ways.target).nineCharacterIds === true ? nineCharacters : plainId);
  }

  userBlocks({ results, parts }: Turn & { role: 'user' }): Block[] {
    const answers = results.flatMap((result) => this.#resultBlocks(result));
    const blocks = [
      ...(modelClassOf(this.#ways.target).refusesResultImages === true ? imagesBehind(answers, this.#ways) : answers),
      ...this.parts(parts, 'a user message'),
    ];
    if (blocks.some((block) => 'document' in block) && !blocks.some((block) => 'text' in block)) {
      // wire: a message with a document must have a text too (Amazon Bedrock: DocumentBlock)
      this.#ways.adjust('messages', 'a text added beside the document');
      blocks.push({ text: 'See the document.' });
    }
    if (blocks.length === 0) {
      // wire: a message without content is a 400 (Amazon Bedrock: error text "The content field in the Message object ... is empty")
      this.#ways.adjust('messages', 'an empty user message filled in');
      blocks.push({ text: '…' });
    }
    return blocks;
  }

  /** The blocks of content parts, each followed by its cache point. `holder` names the message in an error. */
  parts(parts: readonly ContentPart[], holder: string): Block[] {
    const blocks: Block[] = [];
    for (const part of parts) {
      const block = this.#partBlock(part, holder);
      if (block === null) continue;
      blocks.push(block);
      this.#ways.cachePoints.after(blocks, part['cache_control']);
    }
    return blocks;
  }

  /** The blocks of an assistant message: texts, then calls. Each reasoning block goes to the place in the answer where it was. */
  assistantBlocks(message: Message, isLast: boolean): Block[] {
    const blocks: Block[] = [];
    // wire: while thinking is off, a last turn with thinking is a 400 at Claude (Anthropic: Extended thinking)
    const thoughts = isLast && !this.#ways.thinks ? [] : thoughtsOf(message, this.#ways.target).toReversed();
    this.#addTexts(blocks, message, thoughts);
    for (const [at, call] of (message.tool_calls ?? []).entries()) {
      for (let next = takeUpTo(thoughts, at); next !== undefined; next = takeUpTo(thoughts, at)) blocks.push(next.block);
      blocks.push(this.#callBlock(call));
      this.#ways.cachePoints.after(blocks, call['cache_control']);
    }
    for (const { block } of thoughts.toReversed()) blocks.push(block);
    if (blocks.length > 0) this.#ways.cachePoints.after(blocks, message['cache_control']);
    return blocks;
  }

  /**
   * Adds the texts of an answer, cut where reasoning came between them. The thoughts are in reverse order.
   */
  #addTexts(blocks: Block[], message: Message, thoughts: Thought[]): void {
    const add = (text: string): void => {
      if (text.trim() !== '') blocks.push({ text });
    };
    const { refusal } = message;
    const parts = [...partsOf(message), ...(typeof refusal === 'string' ? [{ type: 'text', text: refusal }] : [])];
    let before = 0;
    for (const part of parts) {
      let text = wordsOf(part);
      if (text === null) throw unsupported(this.#pathOf(part), `Bedrock takes no part of type "${part.type}" in an assistant message.`);
      const end = before + text.length;
      for (let next = takeUpTo(thoughts, 0, end); next !== undefined; next = takeUpTo(thoughts, 0, end)) {
        const cut = cutAt(text, Math.max(0, next.place.text - before));
        add(text.slice(0, cut));
        blocks.push(next.block);
        text = text.slice(cut);
        before += cut;
      }
      add(text);
      before = end;
      if (blocks.length > 0) this.#ways.cachePoints.after(blocks, part['cache_control']);
    }
  }

  #callBlock({ id, function: { name, arguments: text } }: ToolCall): Block {
    this.#toolNames.set(id, name);
    if (!this.#ways.hasTools) {
      this.#ways.adjust('messages', 'tool turns sent as text');
      return { text: `Called the tool ${name} with ${text.trim() === '' ? '{}' : text}` };
    }
    // wire: `input` must be an object (recorded traffic, as of 2026-11)
    return { toolUse: { toolUseId: this.#callIds.ofCall(id), name, input: argumentsIn(text, this.#ways.adjust) } };
  }

  #resultBlocks(result: Message): Block[] {
    const id = result.tool_call_id ?? '';
    const parts = partsOf(result);
    const content = parts.map((part) => this.#partBlock(part, 'a tool result')).filter((block) => block !== null);
    const blocks: Block[] = this.#ways.hasTools
      ? [{ toolResult: { toolUseId: this.#callIds.ofResult(id), content: this.#filled(content, result), ...this.#status(result) } }]
      : this.#resultAsText(id, content);
    this.#ways.cachePoints.after(
      blocks,
      parts.find((part) => part['cache_control'] !== undefined)?.['cache_control'] ?? result['cache_control'],
    );
    return blocks;
  }

  /**
   * wire: Claude takes a result without content, but not for a call that failed: 400 "cannot be empty when status value is error"
   * (aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15, 2026-06). Nemotron, and maybe others, answer 400 to every result
   * without content (strands-agents/harness-sdk#2122, 2026-04). An empty text is a 400 too (NousResearch/hermes-agent#55092, 2026-06).
   */
  #filled(content: Block[], result: Message): Block[] {
    if (content.length > 0 || (modelClassOf(this.#ways.target).family === 'claude' && result['is_error'] !== true)) return content;
    this.#ways.adjust('messages', 'an empty tool result filled in');
    return [{ text: '…' }];
  }

  #status(result: Message): Block {
    if (result['is_error'] !== true) return {};
    if (modelClassOf(this.#ways.target).takesStatus === true) return { status: 'error' };
    this.#ways.adjust('messages.is_error', 'dropped');
    return {};
  }

  #resultAsText(id: string, content: readonly Block[]): Block[] {
    this.#ways.adjust('messages', 'tool turns sent as text');
    const texts = content.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
    const media = content.filter((block) => !('text' in block));
    return [{ text: `The tool ${this.#toolNames.get(id) ?? id} answered: ${texts.join('\n')}` }, ...media];
  }

  /**
   * The block of a part. Null for a blank text.
   * wire: a blank text is a 400 (Amazon Bedrock: error text "The text field in the ContentBlock object ... is blank").
   */
  #partBlock(part: ContentPart, holder: string): Block | null {
    const text = wordsOf(part);
    if (text !== null) return text.trim() === '' ? null : { text };
    const pathOf = (): string => this.#pathOf(part);
    if (holder !== 'a system message' && part.type === 'image_url') {
      const { detail = 'auto' } = fieldsOf(part['image_url']);
      if (detail !== 'auto' && detail !== null) this.#ways.adjust('messages.content.image_url.detail', 'dropped');
      return imageBlock(part, pathOf);
    }
    if (holder !== 'a system message' && part.type === 'file') return documentBlock(part, { pathOf, names: this.#documentNames });
    throw unsupported(pathOf(), `Bedrock takes no part of type "${part.type}" in ${holder}.`);
  }

  /** cost: the path is searched only for an error message. */
  #pathOf(part: ContentPart): string {
    const message = this.#messages.findIndex(({ content }) => Array.isArray(content) && (content as readonly ContentPart[]).includes(part));
    const at = (this.#messages[message]?.content as readonly ContentPart[] | undefined)?.indexOf(part);
    return at === undefined ? 'messages' : `messages[${message}].content[${at}]`;
  }
}

/**
 * Takes the next thought, if at most `calls` calls and `text` characters of text come before it.
 * cost: the thoughts are in reverse order, because removing the first item of a list moves all others.
 */
function takeUpTo(reversed: Thought[], calls: number, text = Infinity): Thought | undefined {
  const place = reversed.at(-1)?.place;
  return place !== undefined && place.calls <= calls && place.text <= text ? reversed.pop() : undefined;
}

/** The results of a turn without their images, and after the last result the images of all results. */
function imagesBehind(results: readonly Block[], { adjust }: MessageWays): readonly Block[] {
  const bare: Block[] = [];
  const behind: Block[] = [];
  for (const block of results) {
    const result = fieldsOf(block['toolResult']);
    const content = listOf(result['content']).map(fieldsOf);
    const others = content.filter((one) => !('image' in one));
    if (others.length === content.length) {
      bare.push(block);
      continue;
    }
    bare.push({ toolResult: { ...result, content: others.length > 0 ? others : [{ text: 'See the image after the results.' }] } });
    behind.push({ text: `The tool call ${result['toolUseId'] as string} gave this:` });
    // safety: `behind.push(...content)` would overflow the stack where the list is long
    for (const one of content) if ('image' in one) behind.push(one);
  }
  if (behind.length > 0) adjust('messages', 'images of tool results put behind the results');
  return [...bare, ...behind];
}

const wordsOf = ({ type, text, refusal }: ContentPart): string | null => {
  if (type === 'refusal') return typeof refusal === 'string' ? refusal : '';
  return type === 'text' ? (text ?? '') : null;
};

/**
 * wire: an id has at most 64 letters, digits, `_` and `-` (Amazon Bedrock: ToolUseBlock), and ids of other providers have dots and colons.
 */
const plainId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : `call_${lettersAndDigits(id).slice(0, 32)}`);
