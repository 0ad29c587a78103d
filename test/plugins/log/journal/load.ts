/** Callers of a gateway that may be killed: which of them got a complete reply, and which did not. */
import { clientOf } from '../../../_kit/client.ts';
import { startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { pause } from '../../../_kit/upstream.ts';

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'plain-1', choices: [{ index: 0, delta, finish_reason: finish }], ...(finish !== null && { usage }) })}\n\n`;

/** Answers at once, or as a stream of three pieces with pauses. */
export const startProvider = (): Promise<ScriptedUpstream> =>
  startUpstream(async (reply, { json }) => {
    if (json['stream'] !== true) {
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: 'plain-1',
          choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
          usage,
        }),
      );
      return;
    }
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of [event({ role: 'assistant', content: 'one' }), event({ content: 'two' }), event({}, 'stop') + 'data: [DONE]\n\n']) {
      reply.write(piece);
      await pause(15);
    }
    reply.end();
  });

export interface Journal {
  readonly store: 'sqlite' | 'postgres';
  readonly url: string | null;
  readonly dataDir: string;
}

/** The config of a gateway whose journal is in this folder. */
export const journalled = (upstream: string, { store, url, dataDir }: Journal, more: object = {}): Record<string, unknown> =>
  oneUpstream(upstream, {
    server: { port: 0, data_dir: dataDir },
    // cost: a start with all plugins takes twice the CPU
    plugins: [
      'endpoints/chat-completions',
      'endpoints/health',
      'auth/keys',
      'metadata/headers',
      'route/policy',
      'stream/upstream',
      'log/estimate',
      'log/cost',
      'dialects/openai-chat',
      { use: 'log/journal', with: { store, ...(url !== null && { url }), ...more } },
    ],
  });

export interface Seen {
  /** Requests whose reply was complete. */
  readonly complete: Set<string>;
  /** Requests whose reply began and broke off. */
  readonly broken: Set<string>;
  failed: number;
}

export const nothingSeen = (): Seen => ({ complete: new Set(), broken: new Set(), failed: 0 });

/** Calls from this many connections until `stop` is called; every third call asks for a stream. */
export function call(url: string, connections: number, seen: Seen): () => Promise<void> {
  const phase = { isOver: false };
  // cost: `fetch` takes more CPU for a request than the gateway does
  const client = clientOf(url);
  let number = 0;
  const one = async (): Promise<void> => {
    let id: string | null = null;
    try {
      const stream = number++ % 3 === 0;
      const reply = await client.ask('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gateway-tenant': 'acme' },
        body: JSON.stringify({ model: 'plain', stream, messages: [{ role: 'user', content: 'hi' }] }),
      });
      id = reply.headers.get('x-request-id');
      const text = await reply.text();
      if (reply.status !== 200 || (stream && !text.endsWith('data: [DONE]\n\n'))) throw new Error(`${reply.status} ${text}`);
      seen.complete.add(id as string);
    } catch {
      if (id === null) seen.failed++;
      else seen.broken.add(id);
      await pause(5);
    }
  };
  const callers = Array.from({ length: connections }, async () => {
    while (!phase.isOver) {
      await one();
      // cost: without this pause the callers use a whole core, which the starting
      // gateways need. The test needs requests at any time, not many of them
      await pause(40);
    }
  });
  return async () => {
    phase.isOver = true;
    await Promise.all(callers);
    await client.close();
  };
}
