import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WireEvent } from '../../../../core/wire/dialect.ts';
import { createFramer, frames, loadCodec } from '../../../../plugins/dialects/bedrock/frames.ts';
import { errorFrame, eventFrame, exceptionFrame, frameOf } from './frame.ts';

const codec = await loadCodec();
const framer = (maxEventBytes = 1 << 20) => createFramer(codec, { maxEventBytes });

const first = eventFrame('messageStart', { role: 'assistant' });
const second = eventFrame('contentBlockDelta', { delta: { text: 'né' } });
const damaged = (frame: Buffer, at: number): Buffer => {
  const copy = Buffer.from(frame);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
};

describe('frames of an event stream', () => {
  it('become events with their type and payload', () => {
    expect(framer().push(Buffer.concat([first, second]))).toEqual([
      { event: 'messageStart', data: '{"role":"assistant"}' },
      { event: 'contentBlockDelta', data: '{"delta":{"text":"né"}}' },
    ]);
  });

  it('become marked events where they are exceptions and errors', () => {
    expect(framer().push(Buffer.concat([exceptionFrame('throttlingException', { message: 'No.' }), errorFrame('Bad', 'No.')]))).toEqual([
      { event: 'exception:throttlingException', data: '{"message":"No."}' },
      { event: 'error:Bad', data: '{"message":"No."}' },
    ]);
  });

  it('are read with headers of other types, and without headers', () => {
    expect(framer().push(frameOf({ final: true, ':event-type': 'x', count: 3 }, '{}'))).toEqual([{ event: 'x', data: '{}' }]);
    expect(framer().push(frameOf({}, ''))).toEqual([{ event: '', data: '' }]);
  });

  it('are the same in pieces of any size', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(300), { maxLength: 20 }), (said, sizes) => {
        const bytes = Buffer.concat(said.map((text) => eventFrame('t', { text })));
        const reader = framer();
        const events: WireEvent[] = [];
        let at = 0;
        for (const size of sizes) events.push(...reader.push(bytes.subarray(at, (at += size))));
        events.push(...reader.push(bytes.subarray(at)), ...reader.end());
        expect(events).toEqual(said.map((text) => ({ event: 't', data: JSON.stringify({ text }) })));
      }),
    );
  });

  it('that come in small parts are copied together, because each part would keep a whole buffer in memory', () => {
    const reader = framer();
    const part = Buffer.alloc(1);
    const events = [...reader.push(first.subarray(0, 1))];
    for (const byte of first.subarray(1)) {
      part[0] = byte;
      events.push(...reader.push(part));
    }
    expect(events).toEqual([{ event: 'messageStart', data: '{"role":"assistant"}' }]);
  });

  it('that are never complete give no event', () => {
    const reader = framer();
    expect(reader.push(first.subarray(0, -1))).toEqual([]);
    expect(reader.end()).toEqual([]);
  });

  it('are refused if any of their bits is wrong', () => {
    for (let at = 0; at < first.length; at++) {
      const reader = framer();
      expect(() => [...reader.push(damaged(first, at)), ...reader.end()], `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'upstream_invalid_response' }),
      );
    }
  });

  it('with a damaged length are refused at once, without waiting for more bytes', () => {
    expect(() => framer().push(damaged(first, 2).subarray(0, 12))).toThrow(expect.objectContaining({ code: 'upstream_invalid_response' }));
  });

  it('before a damaged frame are still given', () => {
    const reader = framer();
    expect(reader.push(Buffer.concat([first, damaged(second, 60)]))).toHaveLength(1);
    expect(() => reader.push(first)).toThrow(expect.objectContaining({ code: 'upstream_invalid_response' }));
    expect(() => reader.end()).toThrow(expect.objectContaining({ code: 'upstream_invalid_response' }));
  });

  it('have a largest payload, which is checked as soon as the length is known', () => {
    const payload = 'x'.repeat(100);
    expect(framer(100).push(frameOf({ ':event-type': 'x' }, payload))).toHaveLength(1);
    expect(() => framer(99).push(frameOf({ ':event-type': 'x' }, payload).subarray(0, 12))).toThrow(
      expect.objectContaining({ code: 'upstream_event_too_large' }),
    );
  });

  it('are read by a library that is loaded for the first stream', async () => {
    expect((await frames({ maxEventBytes: 1000 })).push(first)).toHaveLength(1);
  });
});
