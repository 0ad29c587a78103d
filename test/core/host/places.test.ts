import { expect, test } from 'vitest';
import { Places } from '../../../core/host/places.ts';

const places = new Places('file:///gateway/plugins/', [['file:///home/quota.ts', 'mine/quota']]);

test.each([
  ['file:///gateway/plugins/log/journal/write/writer.ts', 'log/journal'],
  ['file:///gateway/plugins/log/cost.ts', 'log/cost'],
  ['file:///home/quota.ts', 'mine/quota'],
  ['file:///home/other.ts', null],
  ['file:///gateway/core/chat.ts', null],
  ['node:fs', null],
])('the gateway finds the plugin of a file: %s', (file, plugin) => {
  expect(places.pluginOf(file)).toBe(plugin);
});

test('the gateway finds the plugin whose code threw, through code of the core and of packages', () => {
  const error = new Error('x');
  error.stack =
    'Error: x\n    at emit (node:events:1:1)\n    at send (file:///gateway/node_modules/undici/index.js:1:2)\n    at Timeout.tick (file:///home/quota.ts:3:4)\n    at file:///gateway/plugins/log/cost.ts:1:1';
  expect(places.pluginIn(error)).toBe('mine/quota');
});

test.each(['text', null, new Error('without a plugin')])('the gateway finds no plugin in %s', (thrown) => {
  expect(places.pluginIn(thrown)).toBeNull();
});
