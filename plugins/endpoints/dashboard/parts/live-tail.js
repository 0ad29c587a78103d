/** Requests as they end. While somebody reads on, new ones wait; a burst becomes one update of the page. */
import { useEffect, useRef, useState } from './html.js';
import { tail } from './tail.js';

export const mostRows = 500;

/** So many at once do not light up one by one. */
const calm = 20;
const lit = new WeakSet();
/** Whether a row is to light up as it comes. @param {any} record of the tail */
export const isLit = (record) => lit.has(record);

const shortestTick = 250;
const longestTick = 2000;

/**
 * A value that stands still while somebody reads: a list does not move under the pointer.
 * @template Value
 * @param {Value} value
 * @param {{ isHeld: boolean, of: string | null }} options what it answers; another question is answered at once. null: it is no answer yet
 * @returns {[Value, () => void]} and what lets it go on once
 */
export function useHeld(value, { isHeld, of }) {
  const kept = useRef({ value, of });
  if (!isHeld || of === null || kept.current.of !== of) kept.current = { value, of };
  return [kept.current.value, () => void (kept.current.of = null)];
}

/**
 * Goes on again and again, each time later the longer the page takes to show what came: somebody may want to click meanwhile.
 * @param {() => void} act
 * @returns {() => void} ends it
 */
function ticking(act) {
  let timer = 0;
  let isOver = false;
  const tick = () => {
    act();
    const began = performance.now();
    // a timer that is set before the page is painted comes after that
    requestAnimationFrame(() => setTimeout(() => {
      const pause = Math.min(longestTick, Math.max(shortestTick, 3 * (performance.now() - began)));
      if (!isOver) timer = setTimeout(tick, pause);
    }));
  };
  timer = setTimeout(tick, shortestTick);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * @param {string | null} query of the API; null: off
 * @param {{ isHeld: boolean }} options whether new rows are to wait
 */
export function useLiveTail(query, { isHeld }) {
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  const [isConnected, setConnected] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const held = useRef(/** @type {any[]} */ ([]));
  const isHeldNow = useRef(isHeld);
  isHeldNow.current = isHeld;

  const release = () => {
    const taken = held.current;
    held.current = [];
    setWaiting(0);
    if (taken.length <= calm) for (const record of taken) lit.add(record);
    if (taken.length > 0) setRows((before) => [...taken.toReversed(), ...before].slice(0, mostRows));
  };
  useEffect(() => {
    setRows([]);
    held.current = [];
    setWaiting(0);
    if (query === null) return setConnected(false);
    const came = (record) => {
      held.current.push(record);
      // what does not fit on the page would be cut anyway
      if (held.current.length > mostRows) held.current.shift();
    };
    const end = tail(query, came, setConnected);
    const stop = ticking(() => {
      if (held.current.length === 0) return;
      if (isHeldNow.current) setWaiting(held.current.length);
      else release();
    });
    return () => {
      end();
      stop();
    };
  }, [query]);
  useEffect(() => {
    if (!isHeld) release();
  }, [isHeld]);
  return { rows, waiting, isConnected, release };
}
