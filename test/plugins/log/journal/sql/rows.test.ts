import { describe, expect, test } from 'vitest';
import { toolList } from '../../../../../plugins/endpoints/responses/tools.ts';
import { readRecord, rowOf } from '../../../../../plugins/log/journal/sql/rows.ts';
import type { ChatRequest } from '../../../../../core/chat.ts';
import type { RequestRecord } from '../../../../../core/pipeline/context.ts';
import { recordFields } from '../../../../../core/log/fields.ts';
import { upstreamOf } from '../../../../../plugins/log/journal/sql/upstream.ts';
import { promptStartOf } from '../../../../../plugins/log/journal/write/prompt-start.ts';
import { finishedFrame, finishedFrameWithBodies } from '../../../../../plugins/log/journal/write/entry.ts';
import type { Frame } from '../../../../../plugins/log/journal/write/frames.ts';
import type { Row } from '../../../../../plugins/log/journal/sql/rows.ts';
import { cpuMsOf } from '../../../../_kit/cpu.ts';
import { finished, request, response } from '../scene.ts';

const readBack = (record: object) => readRecord(rowOf({ payload: JSON.stringify(record), isInterrupted: false }).request);

test('a record is read as it was written', () => {
  const record = finished({ userAgent: 'curl/8', usageEstimated: true });
  expect(readBack(record)).toEqual(record);
});

test('a record that is older than a field is read without it', () => {
  const {
    userAgent: _agent,
    usageEstimated: _estimated,
    prices: _prices,
    door: _door,
    promptStart: _start,
    attempts,
    ...older
  } = finished();
  const before = { ...older, attempts: attempts.map(({ startedMs: _started, ...attempt }) => attempt) };
  expect(readBack(before)).toMatchObject({
    userAgent: null,
    usageEstimated: false,
    prices: null,
    door: 'chat',
    promptStart: null,
    attempts: [{ startedMs: null }],
  });
  expect(readBack({ ...before, path: '/v1/messages', request: request('Why?') })).toMatchObject({ door: 'messages', promptStart: 'Why?' });
});

test('a request whose process died has its endpoint', () => {
  const { id, createdAt, metadata } = finished();
  expect(
    rowOf({ payload: JSON.stringify({ id, createdAt, metadata, path: '/v1/embeddings' }), isInterrupted: true }).request,
  ).toMatchObject({ outcome: 'interrupted', door: 'embeddings', prompt_start: null });
});

test.each<[string, unknown, string | null]>([
  [
    'the last message of the user',
    [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'First' },
      { role: 'assistant', content: 'Yes' },
      { role: 'user', content: '  Where\n\tis   my order? ' },
      { role: 'tool', content: '{}' },
    ],
    'Where is my order?',
  ],
  [
    'its last part with a text',
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A reminder' },
          { type: 'text', text: 'What is it?' },
          { type: 'text', text: ' \n' },
          { type: 'image_url', image_url: {} },
        ],
      },
    ],
    'What is it?',
  ],
  [
    'a message of the user that has a text',
    [
      { role: 'user', content: 'Look' },
      { role: 'user', content: [{ type: 'image_url', image_url: {} }] },
    ],
    'Look',
  ],
  [
    'the last message with a text, where the user has none',
    [
      { role: 'developer', content: 'Go on.' },
      { role: 'assistant', content: null },
    ],
    'Go on.',
  ],
  ['at most 120 characters, none of them broken', [{ role: 'user', content: `${'x'.repeat(118)}😀 and more` }], `${'x'.repeat(118)}…`],
  ['without half a character at the end of the part that is read', [{ role: 'user', content: `a${' '.repeat(238)}😀 and more` }], 'a'],
  ['120 characters, where there are no more', [{ role: 'user', content: 'x'.repeat(120) }], 'x'.repeat(120)],
  ['nothing of an image', [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }], null],
  [
    'nothing of content that no endpoint accepts',
    [
      { role: 'user', content: 7 },
      { role: 'user', content: [null] },
    ],
    null,
  ],
])('the beginning of a prompt is %s', (_, messages, start) => expect(promptStartOf({ ...request(''), messages })).toBe(start));

test('the beginning of the texts for embeddings is that of the first text', () => {
  expect(
    [['Ärger', 'b'], [[1, 2]], []].map((inputs) => promptStartOf({ ...request(''), messages: [], ask: { kind: 'embeddings', inputs } })),
  ).toEqual(['Ärger', null, null]);
});

test('a value that a plugin adds is text, a number or a flag, and nothing else', () => {
  const fields: any = { verdict: 'bad', score: 0.1, isKnown: false, list: [1], nothing: null, long: 'x'.repeat(2000) };
  expect(readBack(finished({ fields })).fields).toEqual({ verdict: 'bad', score: 0.1, isKnown: false, long: 'x'.repeat(1024) });
});

describe('a record in parts', () => {
  const rowOfFrame = ({ payload, parts }: Frame): Row => rowOf({ payload, parts, isInterrupted: false });
  const record = (content: string, reasoningContent: string | null = 'thought'): RequestRecord => ({
    ...finished({ userAgent: 'curl/8', tokensPerSecond: 12.5, fields: { score: 1 }, metadata: { team: 'a' } }),
    request: request(content),
    response: response('answer', 'thought'),
    reasoningContent,
    served: null,
  });

  test.each(['thought', 'rewritten', null])('gives the same row as the record in one object (its reasoning: %s)', (reasoning) => {
    const one = record('hello', reasoning);
    const { reasoningContent, ...whole } = one;
    const { request: row, body } = rowOf({
      payload: JSON.stringify({ ...whole, ...(reasoning !== 'thought' && { reasoningContent }) }),
      isInterrupted: false,
    });
    const parted = rowOfFrame(finishedFrameWithBodies(one));
    expect(parted.body).toEqual(body);
    expect({ ...parted.request, more: null }).toEqual({ ...row, more: null, prompt_start: 'hello' });
    expect(readRecord(parted.request)).toEqual(readRecord({ ...row, prompt_start: 'hello' }));
  });

  test('has each field of the log, and no other', () => {
    const { payload, parts } = finishedFrame({
      ...record('hello'),
      error: { code: 'x', message: 'y', plugin: null },
      clientRequestId: 'theirs',
      clientAddress: '203.0.113.0',
      reasoningEstimated: true,
      costIsUpperBound: true,
      providerCost: '0.2',
      usageDetails: { webSearches: 1 },
      ruledOut: [{ provider: 'other', model: 'plain', by: 'route/capability', reason: 'no tools' }],
      adjustments: [{ parameter: 'n', change: 'left out' }],
    });
    const names = new Set([...recordFields.map(({ name }) => name.split('.')[0]), 'target']);
    expect(new Set(Object.keys({ ...JSON.parse(payload), ...JSON.parse(parts?.more ?? '') }))).toEqual(names);
    for (const { name, column } of recordFields) {
      expect(Object.hasOwn(JSON.parse(column === null ? (parts?.more ?? '') : payload), name.split('.')[0] ?? ''), name).toBe(true);
    }
  });

  test('without bodies has no bodies, and no beginning of the prompt', () =>
    expect(rowOfFrame(finishedFrame(record('hello')))).toMatchObject({ body: null, request: { prompt_start: null, door: 'chat' } }));

  test('leaves out values that a reader assumes', () => {
    const frame = finishedFrame({ ...record('hello'), tokensPerSecond: null, attempts: [], prices: null, nativeFinishReason: null });
    expect(Object.keys(JSON.parse(frame.parts?.more ?? ''))).toEqual(['configHash', 'method', 'path', 'timings']);
    expect(readRecord(rowOfFrame(frame).request)).toEqual({
      ...finished({
        userAgent: 'curl/8',
        metadata: { team: 'a' },
        fields: { score: 1 },
        tokensPerSecond: null,
        attempts: [],
        prices: null,
        nativeFinishReason: null,
      }),
      reasoningEstimated: false,
    });
  });

  test('of an earlier version has no endpoint', () => {
    const { payload, parts } = finishedFrameWithBodies(record('hello')) as Required<Frame>;
    const { door: _door, promptStart: _start, ...older } = JSON.parse(payload);
    expect(rowOf({ payload: JSON.stringify(older), parts, isInterrupted: false }).request).toMatchObject({
      door: null,
      prompt_start: null,
    });
  });

  test('keeps no key or header that the caller wrote into the body for another server', () => {
    const given = { top_k: 4, api_key: 'sk-of-caller', extra_headers: { authorization: 'Bearer of-caller' } };
    const kept = { top_k: 4, api_key: '[redacted]', extra_headers: '[redacted]' };
    const bodyOf = (more: Partial<ChatRequest>): unknown =>
      JSON.parse(
        rowOfFrame(finishedFrameWithBodies({ ...record('hello'), request: { ...request('hello'), ...more } })).body?.request ?? '',
      );
    expect(bodyOf({ rest: given })).toMatchObject(kept);
    expect(bodyOf({ native: { fields: given } })).toMatchObject({ native: kept });
  });

  test('keeps no credential of an MCP server, neither of the request nor of what was sent', () => {
    const tool = {
      type: 'mcp',
      server_url: 'https://mcp.example/sse',
      headers: { Authorization: 'Bearer of-mcp', kind: 'user' },
      authorization: 'oauth-of-mcp',
    };
    const mcp_servers = [{ type: 'url', url: 'https://mcp.example/b', authorization_token: 'token-of-mcp' }];
    const asSent = { messages: [{ role: 'user', content: 'hello' }], tools: [tool], mcp_servers };
    const sent = [{ at: 0, requests: [{ method: 'POST', url: 'https://up.example', headers: {}, body: JSON.stringify(asSent) }] }];
    const { body } = rowOfFrame(
      finishedFrameWithBodies({
        ...record('hello'),
        sent,
        request: { ...request('hello'), tools: [{ type: 'mcp', native: { fields: tool } }], native: { fields: { mcp_servers } } },
      }),
    );
    const kept = {
      tools: [{ ...tool, headers: { Authorization: '[redacted]', kind: '[redacted]' }, authorization: '[redacted]' }],
      mcp_servers: [{ ...mcp_servers[0], authorization_token: '[redacted]' }],
    };
    expect(upstreamOf(body?.upstream ?? '', body?.request ?? '')[0]?.body).toEqual({ ...asSent, ...kept });
    expect(JSON.parse(body?.request ?? '')).toMatchObject({
      messages: [{ role: 'user' }],
      tools: [{ native: { fields: kept.tools[0] } }],
      native: { mcp_servers: kept.mcp_servers },
    });
  });

  test('keeps no credential of a namespace of tools, and the schemas of its functions stay as they are', () => {
    const send = { type: 'function', name: 'send', parameters: { type: 'object', properties: { api_key: { type: 'string' } } } };
    const inner = { type: 'namespace', name: 'in', authorization: 'inner-of-mail', tools: [send] };
    const server = { type: 'mcp', server_label: 's', headers: { Authorization: 'server-of-mail' } };
    const mail = { type: 'namespace', name: 'mail', headers: { 'x-team': 'team-of-mail' }, tools: [send, inner, server] };
    const bare = { type: 'namespace', name: 'bare', authorization: 'bare-of-mail', tools: [] };
    const sent = [
      { at: 0, requests: [{ method: 'POST', url: 'https://up.example', headers: {}, body: JSON.stringify({ tools: [mail, bare] }) }] },
    ];
    const tools = toolList('tools', [mail, bare]);
    const { body } = rowOfFrame(finishedFrameWithBodies({ ...record('hello'), sent, request: { ...request('hello'), tools } }));
    expect([body?.request, body?.upstream].join()).not.toContain('of-mail');
    const kept = {
      ...mail,
      headers: { 'x-team': '[redacted]' },
      tools: [send, { ...inner, authorization: '[redacted]' }, { ...server, headers: { Authorization: '[redacted]' } }],
    };
    expect(upstreamOf(body?.upstream ?? '', body?.request ?? '')[0]?.body).toEqual({
      tools: [kept, { ...bare, authorization: '[redacted]' }],
    });
  });

  test('keeps no credential that a client sends in a list', () => {
    const lists = { headers: ['authorization: Bearer of-mcp'], authorization_token: ['token-of-mcp', { also: 'other-of-mcp' }] };
    const mcp_servers = [{ type: 'url', url: 'https://mcp.example/b', ...lists }];
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], mcp_servers });
    const sent = [{ at: 0, requests: [{ method: 'POST', url: 'https://up.example', headers: {}, body }] }];
    const row = rowOfFrame(finishedFrameWithBodies({ ...record('hello'), sent, request: { ...request('hello'), rest: { mcp_servers } } }));
    expect([row.body?.request, row.body?.upstream].join()).not.toContain('of-mcp');
    expect(JSON.parse(row.body?.request ?? '')).toMatchObject({
      messages: [{ role: 'user' }],
      mcp_servers: [{ headers: ['[redacted]'], authorization_token: ['[redacted]', { also: '[redacted]' }] }],
    });
  });

  test('keeps no credential of a data source or of an MCP server with headers of another name, neither of the request nor of what was sent', () => {
    const source = (authentication: object, more: object = {}): object => ({
      type: 'azure_search',
      parameters: { endpoint: 'https://search.example', key: 'plain-key-of-source', authentication, ...more },
    });
    const data_sources = [
      source({ type: 'api_key', key: 'key-of-search' }),
      source(
        { type: 'connection_string', connection_string: 'string-of-search' },
        { embedding_dependency: { authentication: { type: 'api_key', key: 'key-of-vectors' } } },
      ),
    ];
    const tools = [{ type: 'mcp', server_url: 'https://mcp.example', extra_headers: { 'x-team': 'header-of-mcp' } }];
    const sent = [
      { at: 0, requests: [{ method: 'POST', url: 'https://up.example', headers: {}, body: JSON.stringify({ data_sources, tools }) }] },
    ];
    const { body } = rowOfFrame(
      finishedFrameWithBodies({ ...record('hello'), sent, request: { ...request('hello'), tools, rest: { data_sources } } }),
    );
    expect([body?.request, body?.upstream].join()).not.toMatch(/key-of|string-of|header-of/);
    expect(JSON.parse(body?.request ?? '')).toMatchObject({
      messages: [{ role: 'user', content: 'hello' }],
      data_sources: [{ parameters: { endpoint: 'https://search.example', authentication: { key: '[redacted]' } } }, {}],
    });
  });

  test('keeps no password, query or key in the address of an MCP server', () => {
    const addresses = [
      'https://ann:of-mcp@mcp.example/sse',
      'https://mcp.example/sse?api_key=of-mcp',
      'https://with-a-long-name.mcp.example/s/of-mcp-0123456789abcdef0123/sse',
    ];
    const tools = addresses.map((server_url) => ({ type: 'mcp', server_url }));
    const mcp_servers = addresses.map((url) => ({ type: 'url', url }));
    const sent = [
      { at: 0, requests: [{ method: 'POST', url: 'https://up.example', headers: {}, body: JSON.stringify({ tools, mcp_servers }) }] },
    ];
    const { body } = rowOfFrame(
      finishedFrameWithBodies({ ...record('hello'), sent, request: { ...request('hello'), tools, native: { fields: { mcp_servers } } } }),
    );
    const kept = ['https://mcp.example/sse', 'https://mcp.example/sse', 'https://with-a-long-name.mcp.example/s/[redacted]/sse'];
    expect([body?.request, body?.upstream].join()).not.toContain('of-mcp');
    expect(upstreamOf(body?.upstream ?? '', body?.request ?? '')[0]?.body).toEqual({
      tools: kept.map((server_url) => ({ type: 'mcp', server_url })),
      mcp_servers: kept.map((url) => ({ type: 'url', url })),
    });
  });

  test('keeps the address of a tool that is the content itself', () => {
    const tools = [{ type: 'custom', url: 'data:text/plain;base64,QSBmaWxlIG9mIG1vcmUgdGhhbiB0d2VudHkgYnl0ZXM/YT1i' }];
    const { body } = rowOfFrame(finishedFrameWithBodies({ ...record('hello'), request: { ...request('hello'), tools } }));
    expect(JSON.parse(body?.request ?? '')).toMatchObject({ tools });
  });

  test('keeps no key in the extra fields of an SDK', () => {
    const { body } = rowOfFrame(
      finishedFrameWithBodies({
        ...record('hello'),
        request: { ...request('hello'), rest: { extra_body: { top_k: 4, api_key: 'sk-of-caller' } } },
      }),
    );
    expect(JSON.parse(body?.request ?? '')).toMatchObject({ extra_body: { top_k: 4, api_key: '[redacted]' } });
  });

  test('with thousands of credentials is made in one pass', () => {
    const headers = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`h${at}`, `of-mcp-${at}`]));
    const tools = [{ type: 'mcp', headers }];
    const asSent = JSON.stringify({ tools }).replace('{', '{"id":12345678901234567890,');
    const sent = [
      { at: 0, requests: ['not JSON: of-mcp-7', asSent].map((body) => ({ method: 'POST', url: 'https://up.example', headers: {}, body })) },
    ];
    let frame = finishedFrame(record('hello'));
    expect(
      cpuMsOf(() => {
        frame = finishedFrameWithBodies({ ...record('hello'), sent, request: { ...request('hello'), tools } });
      }),
    ).toBeLessThan(2000);
    const { body } = rowOfFrame(frame);
    expect([body?.request, body?.upstream].join()).not.toContain('of-mcp');
    expect(body?.upstream).toContain('12345678901234567890');
  });

  test('is cleaned of characters that a database refuses', () => {
    const { request: row, body } = rowOfFrame(
      finishedFrameWithBodies({ ...record('nul \0 and half \ud83d'), error: { code: 'x', message: '\0', plugin: null } }),
    );
    expect(JSON.parse(body?.request ?? '')).toMatchObject({ messages: [{ content: 'nul \ufffd and half \ufffd' }] });
    expect(JSON.parse(row.more)).toMatchObject({ error: { message: '\ufffd' } });
  });
});
