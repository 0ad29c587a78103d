/** Requests as they end. While somebody reads on, new ones wait; a burst becomes one update of the page. */
import { useEffect, useRef, useState } from './html.js';
import { tail } from './tail.js';

export const mostRows = 500;

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
    const tick = setInterval(() => {
      if (held.current.length === 0) return;
      if (isHeldNow.current) setWaiting(held.current.length);
      else release();
    }, 250);
    return () => {
      end();
      clearInterval(tick);
    };
  }, [query]);
  useEffect(() => {
    if (!isHeld) release();
  }, [isHeld]);
  return { rows, waiting, isConnected, release };
}
