/** Finds which requests continue which: a chat client sends the whole history again with each turn. */
import { hash } from 'node:crypto';
import type { LoggedDetail } from '../../../core/log/store.ts';

type Message = Readonly<Record<string, unknown>>;

interface Choice {
  readonly text?: string;
  readonly toolCalls?: readonly { readonly id?: string }[];
}

/** One request of a conversation, with what it adds to the turns before it. */
export interface Turn {
  readonly record: Omit<LoggedDetail, 'request' | 'response' | 'reasoningContent'>;
  /** The messages that no earlier turn had. Null: the log does not have the text. */
  readonly fresh: readonly Message[] | null;
  readonly response: unknown;
}

export function messagesOf({ request }: Pick<LoggedDetail, 'request'>): readonly Message[] {
  const messages = (request as { messages?: unknown } | null)?.messages;
  return Array.isArray(messages) ? (messages as Message[]) : [];
}

const choicesOf = ({ response }: Pick<LoggedDetail, 'response'>): readonly Choice[] =>
  (response as { choices?: readonly Choice[] } | null)?.choices ?? [];

export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content)
    ? (content as { text?: unknown }[]).map((part) => (typeof part.text === 'string' ? part.text : '')).join('')
    : '';
}

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer';
const digest = (text: string): string => hash('sha256', text, 'base64url');
const assistant = (text: string, calls: readonly { readonly id?: string }[]): string =>
  digest(`assistant ${calls.map(({ id }) => id).join()} ${text.trim()}`);

/** A text that is equal for messages with the same meaning: an answer may come back with other fields than it had. */
function markOf(message: Message): string {
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as { id?: string }[]) : [];
  return message['role'] === 'assistant'
    ? assistant(textOf(message), calls)
    : digest(JSON.stringify([message['role'], message['tool_call_id'], message['content']]));
}

const marksOf = (record: LoggedDetail): string[] =>
  messagesOf(record)
    .filter((message) => !isInstruction(message))
    .map(markOf);

/**
 * Groups requests by conversation: request B continues request A if the history in B begins with the messages and the answer of A.
 * @param records the oldest first
 */
export function chainsOf(records: readonly LoggedDetail[]): LoggedDetail[][] {
  const chains: LoggedDetail[][] = [];
  /** The conversations that can go on, by the digest of their history with its last answer. */
  const open = new Map<string, LoggedDetail[]>();
  for (const record of records) {
    let history = digest(record.key ?? '');
    let chain: LoggedDetail[] | undefined;
    for (const mark of marksOf(record)) {
      history = digest(history + mark);
      chain = open.get(history) ?? chain;
    }
    if (chain === undefined) chains.push((chain = []));
    chain.push(record);
    for (const { text = '', toolCalls = [] } of choicesOf(record)) open.set(digest(history + assistant(text, toolCalls)), chain);
  }
  return chains;
}

/** What each request adds to the ones before it. @param records the oldest first */
export function turnsOf(records: readonly LoggedDetail[]): Turn[] {
  const before: { readonly marks: readonly string[]; readonly instructions: string }[] = [];
  return records.map((whole) => {
    const { request, response, reasoningContent: _, ...record } = whole;
    const own = { marks: marksOf(whole), instructions: digest(JSON.stringify(messagesOf(whole).filter(isInstruction).map(textOf))) };
    const known = before.reduce((most, { marks }) => Math.max(most, sharedOf(marks, own.marks)), 0);
    const isInstructed = before.some(({ instructions }) => instructions === own.instructions);
    // what was answered is part of the history from now on
    for (const { text = '', toolCalls = [] } of choicesOf(whole)) {
      before.push({ ...own, marks: [...own.marks, assistant(text, toolCalls)] });
    }
    before.push(own);
    let place = 0;
    const fresh = messagesOf(whole).filter((message) => (isInstruction(message) ? !isInstructed : place++ >= known));
    return { record, fresh: request === null ? null : fresh, response };
  });
}

/** How many elements at the start of both lists are equal. */
function sharedOf(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((mark, at) => mark !== other[at]);
  return differs === -1 ? one.length : differs;
}
