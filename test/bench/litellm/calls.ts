/** A scripted provider that answers in the form of each vendor, and the calls that it got, without fields that have no effect. */
import type { Asked, Step } from '../../_kit/upstream.ts';
import { answers, completion, said, startUpstream, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';
import type { Figure } from '../figures.ts';

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Sunny.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};
const events = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Sunny.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
const converse = {
  output: { message: { role: 'assistant', content: [{ text: 'Sunny.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  metrics: { latencyMs: 5 },
};
const vectors = (input: unknown): object => ({
  object: 'list',
  model: 'text-embedding-3-small',
  data: [input].flat().map((_, index) => ({ object: 'embedding', index, embedding: [0.1, 0.2] })),
  usage: { prompt_tokens: 3, total_tokens: 3 },
});

function stepFor({ url, json }: Asked): Step {
  if (url.startsWith('/v1/broken')) {
    return answers({ error: { message: 'out of order', type: 'server_error', code: null } }, { status: 500 });
  }
  if (url.includes('/messages')) return json['stream'] === true ? streams(events) : answers(message);
  if (url.includes('/converse')) return answers(converse);
  if (url.includes('/embeddings')) return answers(vectors(json['input']));
  return json['stream'] === true ? streams(said('Sunny.')) : answers({ ...completion('Sunny.'), service_tier: 'default' });
}

export const startVendors = (): Promise<ScriptedUpstream> => startUpstream((response, asked) => stepFor(asked)(response, asked));

type Fields = Readonly<Record<string, unknown>>;

/** One call: the path, and the body in a common form. */
interface Call {
  readonly path: string;
  readonly body: Fields;
}

const callOf = ({ url, json }: Asked): Call => ({ path: decodeURIComponent(url), body: formOf(json) });

/** Fields without effect: the vendor does the same where they are left out. */
const silent: Readonly<Record<string, (value: unknown) => boolean>> = {
  stream: (value) => value === false,
  // the request for the usage, which both gateways read
  stream_options: () => true,
  // OpenRouter sends the usage without this field
  usage: () => true,
  additionalModelRequestFields: isEmpty,
  system: isEmpty,
};

/** Older names of fields with the same meaning. */
const newNames: Readonly<Record<string, string>> = { max_tokens: 'max_completion_tokens' };

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function formOf(body: Fields): Fields {
  const entries = Object.entries(body).filter(([name, value]) => value !== null && silent[name]?.(value) !== true);
  return Object.fromEntries(
    entries.map(([name, value]) => [newNames[name] ?? name, sorted(withoutWays(value))] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/**
 * A list of one text means the same as the text, `developer` the same as `system`;
 * a tool without a type is `custom`, and empty definitions have no effect.
 */
function withoutWays(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutWays);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as Fields).filter(
    ([name, inner]) =>
      inner !== null && inner !== undefined && !(name === 'type' && inner === 'custom') && !(name === '$defs' && isEmpty(inner)),
  );
  return Object.fromEntries(
    fields.map(([name, inner]) => [
      name,
      name === 'content' ? textOf(inner) : name === 'role' && inner === 'developer' ? 'system' : withoutWays(inner),
    ]),
  );
}

function textOf(content: unknown): unknown {
  const parts: unknown[] = Array.isArray(content) ? content : [];
  const [only] = parts as Fields[];
  const isText =
    parts.length === 1 && typeof only?.['text'] === 'string' && Object.keys(only).every((name) => name === 'type' || name === 'text');
  return isText ? only['text'] : withoutWays(content);
}

/** The value, with the keys of all maps sorted. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, sorted(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** The differences between two lists of calls, in words; null: none. */
function difference(theirs: readonly Call[], ours: readonly Call[]): string | null {
  const paths = (calls: readonly Call[]): string => calls.map(({ path }) => path).join(' → ');
  if (paths(theirs) !== paths(ours)) return `asks ${paths(ours) || 'nobody'}, not ${paths(theirs) || 'nobody'}`;
  const found = theirs.flatMap(({ body }, at) => fieldsThatDiffer(body, ours[at]?.body ?? {}));
  return found.length === 0 ? null : found.join('; ');
}

function fieldsThatDiffer(theirs: Fields, ours: Fields): string[] {
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
  const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200));
  return names
    .filter((name) => JSON.stringify(theirs[name]) !== JSON.stringify(ours[name]))
    .map((name) => `${name}: ${shown(ours[name])}, not ${shown(theirs[name])}`);
}

/** The status of the answer to one request, and the calls of the provider for it. */
export interface Outcome {
  readonly status: number;
  readonly calls: readonly Call[];
}

/** Sends the requests one after the other. */
export async function outcomesOf<Request>(
  requests: readonly Request[],
  vendors: ScriptedUpstream,
  ask: (request: Request) => Promise<Response>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const request of requests) {
    const before = vendors.asked.length;
    const response = await ask(request);
    await response.text();
    const posted = vendors.asked.slice(before).filter(({ method }) => method === 'POST');
    outcomes.push({ status: response.status, calls: posted.map(callOf) });
  }
  return outcomes;
}

/** How many requests have the same outcome through both gateways, and what differs in each of the others. */
export function comparison(names: readonly string[], theirs: readonly Outcome[], ours: readonly Outcome[]): Figure[] {
  const others: Figure[] = [];
  for (const [at, what] of names.entries()) {
    const [one, other] = [theirs[at]!, ours[at]!];
    const fault = one.status === other.status ? difference(one.calls, other.calls) : `answered ${other.status}, not ${one.status}`;
    if (fault !== null) others.push({ what, gateway: fault });
  }
  const [all, same] = [names.length, names.length - others.length];
  return [{ what: 'requests with the same calls', gateway: `${same} of ${all}`, target: `${all}`, isMet: same === all }, ...others];
}
