/** The key of an answer: all that can change it, as a hash, so that the cache holds no prompt. */
import { hash } from 'node:crypto';
import type { ChatRequest } from '../../../core/chat.ts';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';

/** Equal for requests of one caller that may have the same answer. Whether the answer is streamed is no part of it, nor is the door. */
export function keyOf({ principal, request }: Normalised, candidates: readonly Candidate[]): string {
  // safety: the caller's key comes first, so no caller gets an answer that another one asked for
  return hash('sha256', JSON.stringify([principal.key, modelsOf(candidates)]) + askedIn(request), 'base64url');
}

/** Fields that change the form of an answer, and not what the answer says. */
const ofForm = ['stream', 'includeUsage', 'door', 'adjustments', 'form'] as const;
/** In the order in which they are written into the key. */
const asked = ['model', 'messages', 'tools', 'reasoning', 'rest', 'toolChoice', 'parallelToolCalls', 'responseFormat', 'maxTokens', 'temperature', 'topP', 'stop', 'seed', 'n', 'presencePenalty', 'frequencyPenalty', 'logitBias', 'logprobs', 'topLogprobs', 'user'] as const;
const named: ReadonlySet<string> = new Set([...ofForm, ...asked]);

/**
 * What is asked, in one order of the fields, which doors give in orders of their own. A field that is not named here counts too.
 * cost: a list of values is made and read in less time than an object with their names, and names are looked up in less time than
 * the named fields are taken out of the object.
 */
function askedIn(request: ChatRequest): string {
  const values: unknown[] = [];
  // the field in which the caller said how to reason is another one at each door
  for (const name of asked) values.push(name === 'reasoning' ? { ...request.reasoning, field: undefined } : request[name]);
  const others: Record<string, unknown> = {};
  for (const name in request) if (!named.has(name)) others[name] = request[name as keyof ChatRequest];
  values.push(others);
  const text = JSON.stringify(values);
  const { form, rest } = request;
  // where a request has nothing that one wire format alone knows, it is the same in all; quotes within a text are escaped, and so are no name of a field
  return form === undefined || (Object.keys(rest).length === 0 && !text.includes('"native":')) ? text : text + form;
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
