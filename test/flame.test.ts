/** The flame graph of the bench: a profile folded into frames, and the frames drawn. */
import { describe, expect, it } from 'vitest';
import { draw, fitting } from './bench/drawing.ts';
import { boxesOf, fold } from './bench/frames.ts';
import type { Frame } from './bench/frames.ts';
import type { Profile } from './bench/profile.ts';

const here = new URL('..', import.meta.url).href;
const node = (id: number, [functionName, url]: readonly [string, string], children: readonly number[] = []): Profile['nodes'][number] => ({
  id,
  callFrame: { functionName, url },
  children,
});

/** One sample for each millisecond, from 5 ms on. */
const profile = (samples: readonly number[]): Profile => ({
  nodes: [
    node(1, ['(root)', ''], [2, 3, 4, 5, 9]),
    node(2, ['(idle)', '']),
    node(3, ['(garbage collector)', '']),
    node(4, ['serve', `${here}core/http/server.ts`], [6, 7]),
    node(5, ['', `${here}plugins/log/console.ts`], [8]),
    node(6, ['send', 'file:///elsewhere/node_modules/undici/lib/client.js'], [10]),
    node(7, ['send', 'file:///elsewhere/node_modules/undici/lib/client.js'], [11]),
    node(8, ['writev', '']),
    node(9, ['emit', 'node:events']),
    node(10, ['wasm-function[1]', 'wasm://wasm/4f2a']),
    node(11, ['read<T>', 'file:///home/somebody/odd.js']),
  ],
  startTime: 5000,
  samples,
  timeDeltas: samples.map(() => 1000),
});

const always = { from: 0, to: Infinity };
const told = ({ name, file, room, ms, calls }: Frame): unknown[] => [name, file, room, ms, ...calls.map(told)];

describe('a folded profile', () => {
  it('has each call below its caller, with the time of its own calls included', () => {
    expect(told(fold(profile([4, 6, 10, 7, 11, 5, 8, 9, 3]), always))).toEqual([
      'main thread',
      '',
      'native',
      9,
      [
        'serve',
        'core/http/server.ts',
        'core',
        5,
        [
          'send',
          'undici/lib/client.js',
          'package',
          4,
          ['wasm-function[1]', 'WebAssembly', 'package', 1],
          ['read<T>', 'odd.js', 'package', 1],
        ],
      ],
      ['anonymous', 'plugins/log/console.ts', 'plugin', 2, ['writev', '', 'native', 1]],
      ['garbage collector', '', 'gc', 1],
      ['emit', 'node:events', 'node', 1],
    ]);
  });

  it('leaves out samples outside of the window, and the time that the thread slept', () => {
    expect(told(fold(profile([9, 4, 2, 4, 3]), { from: 7000, to: 9000 }))).toEqual([
      'main thread',
      '',
      'native',
      2,
      ['serve', 'core/http/server.ts', 'core', 2],
    ]);
  });
});

describe('boxes', () => {
  const whole = fold(profile([4, 4, 6, 5, 5, 5, 5, 5, 5, 9]), always);

  it('are as wide as their share of the time, and are below their caller', () => {
    expect(boxesOf(whole, { width: 1000, least: 0 }).map(({ frame, x, width, depth }) => [frame.name, x, width, depth])).toEqual([
      ['main thread', 0, 1000, 0],
      ['anonymous', 0, 600, 1],
      ['serve', 600, 300, 1],
      ['send', 600, 100, 2],
      ['emit', 900, 100, 1],
    ]);
  });

  it('are left out where they are small', () =>
    expect(boxesOf(whole, { width: 1000, least: 0.2 }).map(({ frame }) => frame.name)).toEqual(['main thread', 'anonymous', 'serve']));
});

describe('the drawing', () => {
  const drawing = draw({ whole: fold(profile([11, 11, 11, 5]), always), requests: 2, about: 'Load: some & more.' });

  it('shows function, file, share and time of each frame', () => {
    expect(Array.from(drawing.matchAll(/<title>(.*?)<\/title>/g), ([, title]) => title)).toEqual([
      'main thread: 100.0 %, 2000.0 µs a request',
      'serve, core/http/server.ts: 75.0 %, 1500.0 µs a request',
      'send, undici/lib/client.js: 75.0 %, 1500.0 µs a request',
      'read&lt;T&gt;, odd.js: 75.0 %, 1500.0 µs a request',
      'anonymous, plugins/log/console.ts: 25.0 %, 500.0 µs a request',
    ]);
    expect(drawing).toContain('Load: some &amp; more.');
    expect(drawing).toContain('>garbage collector</text>');
  });

  it('names a function without a name by its file', () => expect(drawing).toContain('>console.ts</text>'));

  it.each([
    ['writev', 60, 'writev'],
    ['writevGeneric', 60, 'writevG…'],
    ['writev', 20, ''],
  ])('fits %s into %s pixels', (name, width, text) => expect(fitting(name, width)).toBe(text));
});
