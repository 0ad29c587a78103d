import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WireEvent } from '../../../core/wire/dialect.ts';
import { createSseReader } from '../../../core/wire/sse.ts';

const encoder = new TextEncoder();

function read(pieces: readonly Uint8Array[], maxEventBytes = 1 << 20): WireEvent[] {
  const reader = createSseReader({ maxEventBytes });
  const events = pieces.flatMap((piece) => reader.push(piece));
  return [...events, ...reader.end()].map(({ event, data }) => (event === undefined ? { data } : { event, data }));
}

const readText = (text: string): WireEvent[] => read([encoder.encode(text)]);

const everyTear = (bytes: Uint8Array): Uint8Array[][] =>
  Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);

describe('reading an event stream', () => {
  it.each<[string, string, WireEvent[]]>([
    ['takes LF', 'data: a\n\ndata: b\n\n', [{ data: 'a' }, { data: 'b' }]],
    ['takes CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', [{ data: 'a' }, { data: 'b' }]],
    ['takes CR', 'data: a\r\rdata: b\r\r', [{ data: 'a' }, { data: 'b' }]],
    ['takes data without a space', 'data:{"a":1}\n\n', [{ data: '{"a":1}' }]],
    ['keeps every space but the first', 'data:  a \n\n', [{ data: ' a ' }]],
    ['joins lines of one event', 'data: a\ndata: b\n\n', [{ data: 'a\nb' }]],
    ['keeps the name of an event', 'event: error\ndata: {}\n\n', [{ event: 'error', data: '{}' }]],
    ['gives nothing for comments', ': OPENROUTER PROCESSING\n\n: keep-alive\n\ndata: a\n\n', [{ data: 'a' }]],
    [
      'gives nothing for data that is null',
      'data: null\n\ndata: a\n\nevent: ping\ndata:null\n\ndata: "null"\n\n',
      [{ data: 'a' }, { data: '"null"' }],
    ],
    ['keeps an error that is null', 'event: error\ndata: null\n\n', [{ event: 'error', data: 'null' }]],
    ['ignores a byte order mark', '\uFEFFdata: a\n\n', [{ data: 'a' }]],
    ['keeps a byte order mark that is data', '\uFEFFdata: \uFEFFa\n\n', [{ data: '\uFEFFa' }]],
    ['ignores fields that it does not know', 'id: 1\nretry: 10\nwhatever: x\ndata: a\n\n', [{ data: 'a' }]],
    ['gives an event that no blank line closed', 'data: a\n\ndata: b', [{ data: 'a' }, { data: 'b' }]],
    ['gives an event that half a line end closed', 'data: a\r\n\r', [{ data: 'a' }]],
    ['gives nothing for an empty body', '', []],
    ['gives nothing for a body that is not a stream', '{"error":{"message":"no"}}', []],
  ])('%s', (_, text, events) => {
    expect(readText(text)).toEqual(events);
  });

  it('reads the same events from any two pieces', () => {
    const bytes = encoder.encode('\uFEFF: hi\r\n\r\nevent: naïve\r\ndata: {"t":"日本 👋"}\r\n\r\ndata: x\ndata: y\n\ndata: é');
    const whole = read([bytes]);
    expect(whole).toEqual([{ event: 'naïve', data: '{"t":"日本 👋"}' }, { data: 'x\ny' }, { data: 'é' }]);
    for (const pieces of everyTear(bytes)) expect(read(pieces)).toEqual(whole);
  });

  const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\r\n\0]/g, ' '));
  const event = fc.record({
    event: fc.option(fc.stringMatching(/^[a-z._]{1,12}$/), { nil: undefined }),
    lines: fc.array(line, { minLength: 1, maxLength: 3 }),
  });
  const stream = fc.record({
    events: fc.array(event, { maxLength: 6 }),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    hasMark: fc.boolean(),
    hasComments: fc.boolean(),
    isClosed: fc.boolean(),
  });

  it('reads any events, with any line ends, split anywhere', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 40 }), ({ events, end, hasMark, hasComments, isClosed }, cuts) => {
        const blocks = events.map(({ event: name, lines }) =>
          [
            ...(hasComments ? [': ping'] : []),
            ...(name === undefined ? [] : [`event: ${name}`]),
            ...lines.map((text) => `data: ${text}`),
          ].join(end),
        );
        const text = (hasMark ? '\uFEFF' : '') + blocks.join(end + end) + (isClosed && blocks.length > 0 ? end + end : '');
        const bytes = encoder.encode(text);
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((at, before) => bytes.subarray(places[before], at));
        const wanted = events.map(({ event: name, lines }) =>
          name === undefined ? { data: lines.join('\n') } : { event: name, data: lines.join('\n') },
        );
        expect(read(pieces)).toEqual(wanted);
      }),
    );
  });
});

const eventOf = (data: string) => encoder.encode(`data: ${data}\n\n`);

const torn = (data: string) => Array.from(eventOf(data), (byte) => Uint8Array.of(byte));

describe('the limit of one event', () => {
  const tooLarge = expect.objectContaining({ code: 'upstream_event_too_large' });

  it('counts bytes, not characters', () => {
    expect(read([eventOf('é'.repeat(50))], 100)).toHaveLength(1);
    expect(() => read([eventOf('é'.repeat(51))], 100)).toThrow(tooLarge);
  });

  it('is the same in one piece and byte by byte', () => {
    expect(read(torn('a'.repeat(100)), 100)).toHaveLength(1);
    expect(() => read(torn('a'.repeat(101)), 100)).toThrow(tooLarge);
  });

  it('is for one event and not for the stream', () => {
    expect(
      read(
        Array.from({ length: 50 }, () => eventOf('a'.repeat(90))),
        100,
      ),
    ).toHaveLength(50);
  });

  it('does not stop the events before, also in the same bytes', () => {
    const reader = createSseReader({ maxEventBytes: 100 });
    const bytes = encoder.encode(`data: a\n\ndata: b\n\ndata: ${'c'.repeat(101)}\n\ndata: d\n\n`);
    expect(reader.push(bytes).map(({ data }) => data)).toEqual(['a', 'b']);
    expect(() => reader.end()).toThrow(tooLarge);
  });

  it('stops a line that never ends without keeping it', () => {
    const reader = createSseReader({ maxEventBytes: 1000 });
    const endless = () => {
      for (let at = 0; at < 100; at++) reader.push(encoder.encode(at === 0 ? 'data: ' : 'a'.repeat(100)));
    };
    expect(endless).toThrow(tooLarge);
    expect(() => reader.push(encoder.encode('data: a\n\n'))).toThrow(tooLarge);
  });
});
