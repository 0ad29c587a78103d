/** Adjustments: settings of the caller that could not be sent as they were. Each is named once, and there is a limit. */
import { describe, expect, it } from 'vitest';
import { Adjustments } from '../../../core/wire/adjustments.ts';
import { cpuMsOf } from '../../_kit/cpu.ts';

const dropped = (parameter: string) => ({ parameter, change: 'dropped' });

describe('adjustments', () => {
  it('name each change once', () => {
    const adjustments = new Adjustments();
    for (const change of ['dropped', 'dropped', 'clamped to 1']) adjustments.add('seed', change);
    expect(adjustments.list).toEqual([dropped('seed'), { parameter: 'seed', change: 'clamped to 1' }]);
  });

  it('name the fields of `reasoning` one by one, and other fields whole', () => {
    const adjustments = new Adjustments();
    adjustments.dropField('reasoning', { exclude: true, enabled: false });
    adjustments.dropField('verbosity', { level: 1 });
    adjustments.dropField('store', null);
    expect(adjustments.list).toEqual([dropped('reasoning.exclude'), dropped('reasoning.enabled'), dropped('verbosity')]);
  });

  // cost: each adjustment was compared with all before it: a hundred thousand took seconds, and a million minutes
  it('of a hundred thousand parameters name the first, and how many more there are, in linear time', () => {
    const adjustments = new Adjustments();
    const spent = cpuMsOf(() => {
      for (let at = 0; at < 100_000; at++) adjustments.add(`k${at}`, 'dropped');
    });
    expect(spent).toBeLessThan(1000);
    expect(adjustments.list).toHaveLength(65);
    expect(adjustments.list[0]).toEqual(dropped('k0'));
    expect(adjustments.list.at(-1)).toEqual({ parameter: 'others', change: '99936 more dropped or changed' });
  });

  it('cut a name that is as long as a body', () => {
    const adjustments = new Adjustments();
    adjustments.add('x'.repeat(1_000_000), 'dropped');
    adjustments.add('tools', `without ${'y'.repeat(1_000_000)}`);
    adjustments.add(`${'z'.repeat(255)}😀`, 'dropped');
    expect(JSON.stringify(adjustments.list).length).toBeLessThan(1000);
    for (const { parameter } of adjustments.list) expect(parameter.isWellFormed()).toBe(true);
  });
});
