/**
 * The list of requests that end while the page is open. While somebody
 * reads the list, new requests wait; a burst is one update of the page.
 */
import { useEffect, useRef, useState } from './html.js';
import { tail } from './tail.js';
import { ticking } from './ticking.js';

/** The limit of rows in the tail; older rows are dropped. */
export const mostRows = 500;

/** Where more requests than this come at once, their rows do not light up. */
const calm = 20;
const lit = new WeakSet();
/** Whether a row lights up when it appears. @param {any} record of the tail */
export const isLit = (record) => lit.has(record);

const shortestTick = 250;

/**
 * A value that does not change while somebody reads, so that a list does not move under the pointer.
 * @template Value
 * @param {Value} value
 * @param {{ isHeld: boolean, of: string | null }} options `isHeld`: somebody reads. `of`: the query that the value answers; when `of`
 *   changes, the value changes at once. null: there is no answer yet
 * @returns {[Value, () => void]} the value, and a function that lets it change once
 */
export function useHeld(value, { isHeld, of }) {
  const kept = useRef({ value, of });
  if (!isHeld || of === null || kept.current.of !== of) kept.current = { value, of };
  return [kept.current.value, () => void (kept.current.of = null)];
}

/**
 * The rows of a live tail. `release` shows the rows that wait.
 * @param {string | null} query the query of the API; null turns the tail off
 * @param {{ isHeld: boolean }} options `isHeld` makes new rows wait
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
      // more rows than the list shows need not wait
      if (held.current.length > mostRows) held.current.shift();
    };
    const end = tail(query, came, setConnected);
    const stop = ticking(() => {
      if (held.current.length === 0) return;
      if (isHeldNow.current) setWaiting(held.current.length);
      else release();
    }, shortestTick);
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
