/** The key of an answer: all that can change it, as a hash, so that the cache holds no prompt. */
import { hash } from 'node:crypto';
import type { ChatRequest, Message, Reasoning } from '../../../core/chat.ts';
import { ownerOf } from '../../../core/pipeline/context.ts';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';

/** Equal for requests of one caller that may have the same answer. Whether the answer is streamed is no part of it, nor is the door. */
export function keyOf({ principal, request }: Normalised, candidates: readonly Candidate[]): string {
  // safety: the caller's key comes first, so no caller gets an answer that another one asked for
  const text = JSON.stringify([ownerOf(principal), modelsOf(candidates)]) + askedIn(request);
  // in UTF-8 all halves of a character, which a text that was cut may end with, are one and the same
  return hash('sha256', text.isWellFormed() ? text : Buffer.from(text, 'utf16le'), 'base64url');
}

/** Fields that change the form of an answer, and not what the answer says. */
const ofForm = ['stream', 'includeUsage', 'door', 'adjustments', 'form'] as const;
/** In the order in which they are written into the key, behind the messages and the reasoning. */
const asked = ['model', 'tools', 'rest', 'toolChoice', 'parallelToolCalls', 'responseFormat', 'maxTokens', 'temperature', 'topP', 'stop', 'seed', 'n', 'presencePenalty', 'frequencyPenalty', 'logitBias', 'logprobs', 'topLogprobs', 'user'] as const;
const named: ReadonlySet<string> = new Set([...ofForm, ...asked, 'messages', 'reasoning']);

/**
 * What is asked, in one order of the fields, which doors give in orders of their own. A field that is not named here counts too.
 * cost: texts stand behind their length, so that no two requests read alike. JSON looks at each character of a prompt.
 */
function askedIn(request: ChatRequest): string {
  const { messages, reasoning, form, rest } = request;
  const said: Said = { text: `${messages.length};`, hasNative: false };
  for (const message of messages) addMessage(message, said);
  // the field in which the caller said how to reason is another one at each door
  for (const name in reasoning) if (name !== 'field') addField(name, reasoning[name as keyof Reasoning], said);
  for (const name of asked) add(request[name], said);
  for (const name in request) if (!named.has(name)) addField(name, request[name as keyof ChatRequest], said);
  // where a request has nothing that one wire format alone knows, it is the same in all
  return form === undefined || (!said.hasNative && Object.keys(rest).length === 0) ? said.text : said.text + form;
}

/** What was written so far, and whether a part of it has a field `native`. */
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
    // quotes within a text are escaped, and so are no name of a field
    said.hasNative ||= json.includes('"native":');
    said.text += `${json.length}:${json}`;
  }
}

/** The models behind the name that the request asks for, whatever their order at this moment: a reload or a rule may put others there. */
function modelsOf(candidates: readonly Candidate[]): string[] {
  const models = new Set<string>();
  // cost: a model may have thousands of targets, which mostly stand together
  let last: Candidate | null = null;
  for (const candidate of candidates) {
    if (candidate.model === last?.model && candidate.reasoning === last.reasoning) continue;
    last = candidate;
    models.add(candidate.reasoning === null ? candidate.model.id : `${candidate.model.id} ${candidate.reasoning.effort} ${candidate.reasoning.maxTokens}`);
  }
  return [...models].sort();
}
