/** The code that sends a request, for curl, Python and TypeScript. A variable replaces the key, so no snippet has a secret. */

const base = () => `${location.origin}/v1`;
const indent = (text, by) => text.split('\n').join(`\n${' '.repeat(by)}`);

/** Fields whose inner names the caller chooses: a `native` in them is the caller's. */
const schemas = new Set(['function', 'response_format', 'metadata']);

/**
 * A part of a logged request without the fields that only its own door understands.
 * @param {any} value @param {Set<string>} lost gets the names of the removed fields
 */
function withoutNative(value, lost) {
  if (Array.isArray(value)) {
    return value.filter((one) => !(one?.native?.isAll && lost.add(one.type ?? one.role))).map((one) => withoutNative(one, lost));
  }
  if (typeof value !== 'object' || value === null) return value;
  const { native, ...rest } = value;
  for (const name of Object.keys(native?.fields ?? {})) lost.add(name);
  return Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, schemas.has(name) ? inner : withoutNative(inner, lost)]));
}

/**
 * A logged request as a caller of the chat door sends it, without the fields that only its own door understands.
 * @param {any} request @param {Set<string>} [lost] gets the names of these fields
 */
export function chatOf(request, lost = new Set()) {
  const { door: _door, ...body } = request ?? {};
  return withoutNative(body, lost);
}

/** The system takes no argument of more than 128 kB, so a longer body comes from standard input. */
const longest = 100_000;

/** How the paths of Azure begin. Where such a path names the model, the body of a logged request names it too. */
const named = /^\/:host(?:\/deployments\/:model)?(?=\/)/;

/**
 * @param {any} body @param {Record<string, string>} [metadata]
 * @param {string} [path] of the door, as in a record; found by the body where absent
 */
export function curlOf(body, metadata = {}, path = `/v1/${'messages' in body ? 'chat/completions' : 'embeddings'}`) {
  // curl sends a header without a value only if its name ends with a semicolon
  const headers = Object.entries(metadata).map(
    ([name, value]) => `-H '${shell(value === '' ? `x-gateway-${name};` : `x-gateway-${name}: ${value}`)}'`,
  );
  const text = JSON.stringify(body);
  const data = new TextEncoder().encode(text).length > longest ? `--data-binary @- <<'JSON'\n${text}\nJSON\n` : `-d '${shell(text)}'`;
  return [
    `curl ${body.stream ? '-N ' : ''}${location.origin}${path.replace(named, '/v1')}`,
    "-H 'content-type: application/json'",
    '-H "authorization: Bearer $GATEWAY_KEY"',
    ...headers,
    data,
  ].join(' \\\n  ');
}

const shell = (text) => text.replaceAll("'", `'\\''`);

const isAscii = (text) => /^[\0-\x7f]*$/.test(text);
/**
 * A header holds bytes: the clients refuse other text, so what is not ASCII is written as its UTF-8.
 * @param {Record<string, string>} metadata
 */
const pythonHeaders = (metadata) =>
  python(Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-gateway-${name}`, value]))).replaceAll(
    /"(?:[^"\\]|\\.)*"(?=,?\n)/g,
    (text) => (isAscii(text) ? text : `${text}.encode()`),
  );
/** @param {Record<string, string>} metadata */
const nodeHeaders = (metadata) => {
  const written = Object.entries(metadata).map(([name, value]) => {
    const text = JSON.stringify(value);
    return `${JSON.stringify(`x-gateway-${name}`)}:${isAscii(value) ? text : `Buffer.from(${text}).toString('latin1')`}`;
  });
  return `{${written.join()}}`;
};

/** The arguments that the Python client accepts. It refuses any other argument. */
const ofClient = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'reasoning_effort',
  'max_completion_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'n',
  'stop',
  'seed',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'user',
]);

/** @param {Record<string, any>} body @param {Record<string, string>} [metadata] */
export function pythonOf(body, metadata = {}) {
  const args = Object.entries(body)
    .filter(([name]) => ofClient.has(name))
    .map(([name, value]) => `    ${name}=${python(value)},`);
  const others = Object.entries(body).filter(([name]) => !ofClient.has(name));
  const extra = others.length === 0 ? [] : [`    extra_body=${python(Object.fromEntries(others))},`];
  const headers = Object.keys(metadata).length === 0 ? [] : [`    extra_headers=${pythonHeaders(metadata)},`];
  const read = body.stream
    ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")'
    : 'print(answer.choices[0].message.content)';
  return [
    'import os',
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${base()}", api_key=os.environ.get("GATEWAY_KEY", "none"))`,
    '',
    'answer = client.chat.completions.create(',
    [...args, ...extra, ...headers].join('\n'),
    ')',
    read,
    '',
  ].join('\n');
}

/** JSON as Python: only the words true, false and null differ, where they are not inside quotes. */
const python = (value) =>
  indent(
    JSON.stringify(value, null, 4).replaceAll(
      /("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g,
      (_, text, word) => text ?? { true: 'True', false: 'False', null: 'None' }[word],
    ),
    4,
  );

/** @param {Record<string, any>} body @param {Record<string, string>} [metadata] */
export function typescriptOf(body, metadata = {}) {
  const headers = Object.keys(metadata).length === 0 ? '' : `, { headers: ${nodeHeaders(metadata)} }`;
  const read = body.stream
    ? "for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? '');"
    : 'console.log(answer.choices[0]?.message.content);';
  return [
    "import OpenAI from 'openai';",
    '',
    `const client = new OpenAI({ baseURL: '${base()}', apiKey: process.env.GATEWAY_KEY ?? 'none' });`,
    '',
    `const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)}${headers});`,
    read,
    '',
  ].join('\n');
}
