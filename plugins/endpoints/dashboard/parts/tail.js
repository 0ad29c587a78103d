/** Requests as they end, for as long as somebody looks: a browser has six connections to a gateway, and a hidden page gives its own back. */
import { eventsOf } from './lines.js';

const shortestPause = 1000;
const longestPause = 30_000;
/** The server may tell a request twice, never long after. */
const mostKnown = 1000;

/** As if a request had come at that moment: the server then tells what ended since. @param {number} at */
const idAt = (at) => at.toString(16).padStart(12, '0').replace(/^(.{8})/, '$1-').concat('-7000-8000-000000000000');

/**
 * What ended while the page was hidden or the gateway away comes as soon as they are back.
 * @param {string} query of the API
 * @param {(record: any) => void} listener
 * @param {(isConnected: boolean) => void} [tell]
 * @returns {() => void} ends it
 */
export function tail(query, listener, tell = () => {}) {
  const known = new Set();
  let lastId = '';
  let pause = shortestPause;
  let looking = new AbortController();

  const take = (record) => {
    // notices of the stream have no id
    if (record.id === undefined || known.has(record.id)) return;
    lastId = record.id;
    known.add(record.id);
    if (known.size > mostKnown) known.delete(known.values().next().value);
    listener(record);
  };
  // not an EventSource: that gives up for good at the first 502, and one that is opened anew cannot say where it was
  const listen = async (signal) => {
    const response = await fetch(`/api/logs/stream?${query}`, { signal, cache: 'no-store', headers: { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) } });
    if (!response.ok) return;
    pause = shortestPause;
    // by the server's clock
    lastId ||= idAt(Date.parse(response.headers.get('date') ?? '') || Date.now());
    tell(true);
    for await (const record of eventsOf(response)) take(record);
  };
  const watch = async (signal) => {
    while (!signal.aborted) {
      await listen(signal).catch(() => {});
      if (signal.aborted) return;
      tell(false);
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(longestPause, 2 * pause);
    }
  };
  const look = () => {
    looking.abort();
    if (document.hidden) return;
    looking = new AbortController();
    pause = shortestPause;
    void watch(looking.signal);
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    document.removeEventListener('visibilitychange', look);
    looking.abort();
  };
}
