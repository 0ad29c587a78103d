/** Cancellation: which listeners are called, how often, and what its AbortSignal shows. */
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../core/cancellation.ts';

const reason = new Error('the client has left');

/** A cancellation, and the names of the listeners that were called. */
function listening(...names: string[]) {
  const cancellation = new Cancellation();
  const called: string[] = [];
  const remove = Object.fromEntries(names.map((name) => [name, cancellation.onCancel(() => void called.push(name))]));
  return { cancellation, called, remove };
}

describe('a cancellation', () => {
  it('calls its listeners once, in order, and keeps the first reason', () => {
    const { cancellation, called } = listening('a', 'b');
    cancellation.cancel(reason);
    cancellation.cancel(new Error('another'));
    expect([called, cancellation.isCancelled, cancellation.reason]).toEqual([['a', 'b'], true, reason]);
    expect(() => cancellation.throwIfCancelled()).toThrow(reason);
  });

  it('calls no listener that was removed before', () => {
    const { cancellation, called, remove } = listening('a', 'b', 'c', 'd');
    for (const name of ['b', 'd', 'd']) remove[name]?.();
    cancellation.onCancel(() => void called.push('e'));
    cancellation.cancel(reason);
    expect(called).toEqual(['a', 'c', 'e']);
  });

  it('calls the other listeners where one removes itself', () => {
    const { cancellation, called } = listening();
    const removeFirst = cancellation.onCancel(() => {
      called.push('first');
      removeFirst();
    });
    cancellation.onCancel(() => void called.push('second'));
    cancellation.cancel(reason);
    expect(called).toEqual(['first', 'second']);
  });

  it('does not call a listener that another listener removes', () => {
    const { cancellation, called } = listening();
    const removed: (() => void)[] = [];
    cancellation.onCancel(() => removed.forEach((remove) => remove()));
    removed.push(cancellation.onCancel(() => void called.push('removed')));
    cancellation.onCancel(() => void called.push('last'));
    removed.push(cancellation.onCancel(() => void called.push('removed')));
    cancellation.cancel(reason);
    expect(called).toEqual(['last']);
  });

  it('calls no listener that is added after it', () => {
    const { cancellation, called } = listening();
    cancellation.cancel(reason);
    cancellation.onCancel(() => void called.push('late'))();
    expect(called).toEqual([]);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ])('gives an aborted AbortSignal, asked for %s cancel()', (_, at) => {
    const { cancellation } = listening();
    const steps = [() => void cancellation.signal, () => cancellation.cancel(reason)];
    for (const step of at === 0 ? steps : steps.toReversed()) step();
    expect([cancellation.signal.aborted, cancellation.signal.reason]).toEqual([true, reason]);
  });
});
