/**
 * The requests, the same for the provider, the floor and the gateway, and the numbers by which figures
 * are divided. With so many chunks, the cost of the request is a small part of the figure of one chunk.
 */
export const chunksPerStream = 1000;

/** The script of the model `slow`: five chunks at a time, eight seconds a stream. */
export const slow = { chunks: 200, chunksPerWrite: 5, pauseMs: 200 };

export const callerKey = 'bench-key';

export const adminKey = 'the-admin-key-of-the-bench';

/** The admin key, for the status and the metrics. */
export const adminHeaders: Readonly<Record<string, string>> = { authorization: `Bearer ${adminKey}` };

export const path = '/v1/chat/completions';

export const headers: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  authorization: `Bearer ${callerKey}`,
  'user-agent': 'bench/1.0',
  'x-gateway-user-id': 'user-4711',
  'x-gateway-team': 'search',
};

const sentence = 'You answer questions about the orders of a shop, in short sentences and without guessing. ';

const messages = [
  { role: 'system', content: sentence.repeat(4) },
  { role: 'user', content: 'Where is my order 4711? It was sent on Monday, and nothing has come yet.' },
  { role: 'assistant', content: sentence },
  { role: 'user', content: 'Then please write it down for me, with every step and every day that it may still take.' },
];

/** A chat request with a prompt of about 600 characters. */
export const requestFor = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages, temperature: 0.7, max_tokens: 512, reasoning_effort: 'low', user: 'user-4711', ...more });

/** A door, and the same request in its format. */
export interface BenchDoor {
  readonly path: string;
  readonly body: object;
}

const [system, ...turns] = messages as [(typeof messages)[number], ...typeof messages];

export const doors: readonly BenchDoor[] = [
  { path, body: { messages, temperature: 0.7, max_tokens: 512, reasoning_effort: 'low', user: 'user-4711' } },
  {
    path: '/v1/messages',
    body: {
      system: system.content,
      messages: turns,
      temperature: 0.7,
      max_tokens: 512,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
      metadata: { user_id: 'user-4711' },
    },
  },
  {
    path: '/v1/responses',
    body: {
      instructions: system.content,
      input: turns,
      temperature: 0.7,
      max_output_tokens: 512,
      reasoning: { effort: 'low' },
      user: 'user-4711',
    },
  },
  {
    path: '/v1/completions',
    body: {
      prompt: messages.map(({ content }) => content).join('\n'),
      temperature: 0.7,
      max_tokens: 512,
      reasoning_effort: 'low',
      user: 'user-4711',
    },
  },
];

/** A request for a stream. */
export const doorRequestFor = ({ body }: BenchDoor, model: string): string => JSON.stringify({ model, stream: true, ...body });
