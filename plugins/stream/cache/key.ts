/** The key of an answer: a hash of everything that can change the answer, so that the cache holds no prompt. */
import { hash } from 'node:crypto';
import type { ChatRequest, Message, Reasoning } from '../../../core/chat.ts';
import { ownerOf } from '../../../core/pipeline/context.ts';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';

/** Equal for requests of one caller that may have the same answer. Streaming and the door are not part of the key. */
export function keyOf({ principal, request }: Normalised, candidates: readonly Candidate[]): string {
  // safety: the caller's key comes first, so no caller gets an answer that another one asked for
  const text = JSON.stringify([ownerOf(principal), modelsOf(candidates)]) + askedIn(request);
  // a cut text may end with a lone surrogate. UTF-8 writes all lone surrogates as the same bytes, so such a text is hashed as UTF-16
  return hash('sha256', text.isWellFormed() ? text : Buffer.from(text, 'utf16le'), 'base64url');
}

/** Fields that change the form of an answer, but not its content. */
const ofForm = ['stream', 'includeUsage', 'door', 'adjustments', 'implied', 'form'] as const;
/** The order in which fields are written into the key, after the messages and the reasoning. */
const asked = [
  'model',
  'tools',
  'rest',
  'toolChoice',
  'parallelToolCalls',
  'responseFormat',
  'maxTokens',
  'temperature',
  'topP',
  'stop',
  'seed',
  'n',
  'presencePenalty',
  'frequencyPenalty',
  'logitBias',
  'logprobs',
  'topLogprobs',
  'user',
] as const;
const named: ReadonlySet<string> = new Set([...ofForm, ...asked, 'messages', 'reasoning']);

/**
 * The content of the request as text, with its fields in one order, because
 * each door has another. A field that is not named here counts too.
 * cost: each text is written after its length, which keeps different
 * requests apart without JSON. JSON would read each character of a prompt.
 */
function askedIn(request: ChatRequest): string {
  const { messages, reasoning, form, rest } = request;
  const said: Said = { text: `${messages.length};`, hasNative: false };
  for (const message of messages) addMessage(message, said);
  // the field in which the caller set the reasoning differs from door to door
  for (const name in reasoning) if (name !== 'field') addField(name, reasoning[name as keyof Reasoning], said);
  for (const name of asked) add(request[name], said);
  for (const name in request) if (!named.has(name)) addField(name, request[name as keyof ChatRequest], said);
  // a request without parts of a wire format of its own means the same in every format
  return form === undefined || (!said.hasNative && Object.keys(rest).length === 0) ? said.text : said.text + form;
}

/** The text so far, and whether a part of it has a field `native`. */
interface Said {
  text: string;
  hasNative: boolean;
}

function addMessage(message: Message, said: Said): void {
  const { role, content } = message;
  if (typeof content !== 'string' || !isRoleAndContent(message)) return add(message, said);
  add(role, said);
  add(content, said);
}

function isRoleAndContent(message: Message): boolean {
  for (const name in message) if (name !== 'role' && name !== 'content') return false;
  return true;
}

function addField(name: string, value: unknown, said: Said): void {
  if (value === undefined) return;
  said.hasNative ||= name === 'native';
  said.text += `${name}=`;
  add(value, said);
}

function add(value: unknown, said: Said): void {
  if (value === undefined || value === null) {
    said.text += '-';
  } else if (typeof value === 'string') {
    said.text += `"${value.length}:${value}`;
  } else {
    const json = JSON.stringify(value);
    // quotes within a text are escaped, but not those around a field's name
    said.hasNative ||= json.includes('"native":');
    said.text += `${json.length}:${json}`;
  }
}

/** The models behind the requested name, in a fixed order: a reload or a rule may list other models there. */
function modelsOf(candidates: readonly Candidate[]): string[] {
  const models = new Set<string>();
  // cost: a model may have thousands of targets, and most of them are next to each other
  let last: Candidate | null = null;
  for (const candidate of candidates) {
    if (candidate.model === last?.model && candidate.reasoning === last.reasoning) continue;
    last = candidate;
    models.add(
      candidate.reasoning === null
        ? candidate.model.id
        : `${candidate.model.id} ${candidate.reasoning.effort} ${candidate.reasoning.maxTokens}`,
    );
  }
  return [...models].sort();
}
