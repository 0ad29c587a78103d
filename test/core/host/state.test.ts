import { describe, expect, test } from 'vitest';
import { States } from '../../../core/host/state.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { gatewayOf, probe } from '../scene.ts';

const counter = () => ({ count: 0 });

describe('the state of a plugin', () => {
  test('is the same for the gateway before and after a reload', () => {
    const states = new States();
    const before = states.forGateway();
    before.of('a/one')('calls', counter).count = 3;
    const after = states.forGateway();
    expect(after.of('a/one')('calls', counter).count).toBe(3);
    before.release();
    expect(after.of('a/one')('calls', counter).count).toBe(3);
  });

  test('is separate for each plugin and for each name', () => {
    const { of } = new States().forGateway();
    of('a/one')('calls', counter).count = 3;
    expect([of('a/two')('calls', counter).count, of('a/one')('others', counter).count]).toEqual([0, 0]);
  });

  test('ends with the last gateway that asked for it, and is disposed then', () => {
    const states = new States();
    let disposed = 0;
    const make = (): Disposable => ({ [Symbol.dispose]: () => void disposed++ });
    const [before, after] = [states.forGateway(), states.forGateway()];
    const first = before.of('a/one')('socket', make);
    before.of('a/one')('socket', make);
    after.of('a/one')('socket', make);
    before.release();
    before.release();
    expect(disposed).toBe(0);
    after.release();
    expect(disposed).toBe(1);
    expect(states.forGateway().of('a/one')('socket', make)).not.toBe(first);
  });

  test('that throws when it is disposed is named, and the other states and the gateway close', async () => {
    let disposed = 0;
    const keeps = probe(({ state }) => {
      state('broken', () => ({
        [Symbol.dispose]() {
          throw new Error('the socket is gone');
        },
      }));
      state('sound', () => ({ [Symbol.dispose]: () => void disposed++ }));
    });
    const { gateway, lines } = await gatewayOf(oneUpstream('http://127.0.0.1:9'), { plugins: [keeps] });
    await gateway.close();
    expect(disposed).toBe(1);
    expect(lines.join('')).toMatch(/"a plugin failed to close","plugin":"test\/probe","error":"Error: the socket is gone/);
  });
});
