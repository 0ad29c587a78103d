/** Providers that play what a case says, behind one port: `/p0/v1`. They count every call that reaches them. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { completion, event, pause, usage } from '../upstream.ts';
import type { Act, AnyProvider, Hint } from './any-case.ts';

/** A call that has reached a provider. */
export interface Call {
  /** The text of its answer begins with it. */
  readonly id: string;
  /** `p0#2/x0` */
  readonly target: string;
  /** The prompt. */
  readonly prompt: string;
  readonly act: Act;
  readonly isStream: boolean;
  /** Another call was answered on its connection before: the gateway sends such a call again where the connection breaks. */
  readonly isOnUsed: boolean;
}

export interface ActingProviders {
  readonly url: (provider: number) => string;
  readonly calls: Call[];
  /** Resolves when the next call with this prompt is there. */
  called(prompt: string): Promise<void>;
  /** The connections that wait for an answer. */
  running(): number;
  /** From now on all of them answer. */
  recover(): void;
  close(): Promise<void>;
}

/** The milliseconds that each form says; null: it says nothing. */
export const hintMs: Readonly<Record<Hint, number | null>> = {
  none: null,
  ms: 30,
  short: 0,
  seconds: 60_000,
  date: 60_000,
  words: 40,
};

const headersOf: Readonly<Record<Hint, () => Record<string, string>>> = {
  none: () => ({}),
  ms: () => ({ 'retry-after-ms': '30' }),
  short: () => ({ 'retry-after': '0' }),
  seconds: () => ({ 'retry-after': '60' }),
  date: () => ({ date: new Date(0).toUTCString(), 'retry-after': new Date(60_000).toUTCString() }),
  words: () => ({}),
};

/** The pieces of the text of a call. */
const piecesOf = ({ id }: Call): readonly string[] => [`${id}.`, `${id}.`, `${id}.`];
export const textOf = (call: Call): string => (call.act.does === 'is silent' ? '' : piecesOf(call).join(''));

const failure = 'data: {"error":{"message":"it failed","type":"server_error"}}\n\n';
const counts = `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`;

type Play = (response: ServerResponse, call: Call) => void | Promise<void>;

const begin = (response: ServerResponse, isStream: boolean, more: Record<string, string> = {}): ServerResponse =>
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json', ...more });

const ended = (response: ServerResponse, end: string): void => {
  if (end === 'close') response.end();
  // the bytes before must have left
  if (end === 'reset') response.write('', () => setImmediate(() => response.socket?.resetAndDestroy()));
};

const refused = (response: ServerResponse, status: number, hint: Hint): void => {
  const message = hint === 'words' ? 'Please try again in 40ms.' : 'no';
  response.writeHead(status, { 'content-type': 'application/json', ...headersOf[hint]() }).end(JSON.stringify({ error: { message } }));
};

const streamed: Play = async (response, call) => {
  const { act } = call;
  begin(response, true);
  if (act.does === 'fails') response.write(failure);
  if (act.does === 'begins') response.flushHeaders();
  if (act.does === 'is empty') response.write('data: [DONE]\n\n');
  const pieces = act.does === 'is silent' || act.does === 'fails' || act.does === 'begins' || act.does === 'is empty' ? [] : piecesOf(call);
  for (const piece of act.does === 'stops' ? pieces.slice(0, 2) : pieces) {
    response.write(event({ content: piece }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (act.does === 'stops' && act.end === 'error') response.write(failure);
  const isWhole = act.does === 'answers' || act.does === 'finishes' || act.does === 'is silent';
  if (isWhole) response.write(event({}, 'stop') + counts);
  ended(response, 'end' in act && act.end !== 'error' ? act.end : 'close');
};

/** A plain answer that ends as it should, with what the act makes of it. */
function bodyOf(call: Call): string | null {
  const { act } = call;
  if (act.does === 'fails') return '{"error":{"message":"it failed","type":"server_error"}}';
  if (act.does === 'is empty') return '{}';
  if (act.does === 'stops' && act.end === 'error') return '{"choices":[],"error":{"message":"it failed"}}';
  return act.does === 'answers' || act.does === 'is silent' ? JSON.stringify(completion(textOf(call))) : null;
}

const plain: Play = (response, call) => {
  const { act } = call;
  const body = bodyOf(call);
  begin(response, false);
  if (body !== null) response.end(body);
  else {
    const text = JSON.stringify(completion(textOf(call)));
    if (act.does === 'begins') response.flushHeaders();
    else response.write(act.does === 'stops' ? text.slice(0, 40) : text);
    ended(response, 'end' in act ? act.end : 'close');
  }
};

const played: Play = async (response, call) => {
  const { act, isStream } = call;
  if (act.does === 'hangs') return;
  if (act.does === 'answers' && act.afterMs > 0) await pause(act.afterMs);
  if (act.does === 'breaks') response.socket?.resetAndDestroy();
  else if (act.does === 'refuses') refused(response, act.status, act.hint);
  else await (isStream ? streamed : plain)(response, call);
};

interface AskedFor {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly content: string }[];
}

const whole: Act = { does: 'answers', afterMs: 0 };

export async function startActing(providers: readonly AnyProvider[]): Promise<ActingProviders> {
  const calls: Call[] = [];
  const waiting: { prompt: string; resolve: () => void }[] = [];
  const numbers = new Map<string, number>();
  const used = new WeakSet<Socket>();
  const open = new Set<ServerResponse>();
  let isWell = false;

  const callOf = (request: IncomingMessage, body: AskedFor): Call => {
    const [, id = ''] = (request.url ?? '').split('/');
    const { script = [], keys = 1 } = providers[Number(id.slice(1))] ?? {};
    const number = numbers.get(id) ?? 0;
    numbers.set(id, number + 1);
    const key = (request.headers.authorization ?? '').slice(-1);
    return {
      id: `c${calls.length}`,
      target: `${id}${keys > 1 ? `#${key}` : ''}/${body.model}`,
      prompt: body.messages[0]?.content ?? '',
      act: isWell ? whole : (script[number % script.length] ?? whole),
      isStream: body.stream === true,
      isOnUsed: used.has(request.socket),
    };
  };
  const server = createServer((request, response) => {
    open.add(response);
    response.on('error', () => {}).once('close', () => open.delete(response));
    const parts: Buffer[] = [];
    request.on('error', () => {}).on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as AskedFor;
      const call = callOf(request, body);
      used.add(request.socket);
      calls.push(call);
      for (const one of waiting) if (one.prompt === call.prompt) one.resolve();
      void played(response, call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    // nothing listens on the port 1
    url: (at) => `http://127.0.0.1:${providers[at]?.script.length === 0 ? 1 : port}/p${at}/v1`,
    calls,
    called: (prompt) => new Promise((resolve) => waiting.push({ prompt, resolve })),
    running: () => open.size,
    recover: () => void (isWell = true),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
