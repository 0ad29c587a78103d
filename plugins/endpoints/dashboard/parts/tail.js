/**
 * Reports requests when they end, while the page is visible. A browser
 * opens only six connections to a gateway, so a hidden page closes its own.
 */
import { eventsOf } from './lines.js';

const shortestPause = 1000;
const longestPause = 30_000;
/** The number of ids that are remembered. The gateway may report a request twice, but only shortly after the first time. */
const mostKnown = 1000;

/** The id that a request of this moment would have: the gateway then reports all requests that ended since. @param {number} at */
const idAt = (at) =>
  at
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')
    .concat('-7000-8000-000000000000');

/**
 * Calls `listener` with each request that ends. Requests that end while the page is hidden or the gateway is away are reported
 * afterwards.
 * @param {string} query the query of the API
 * @param {(record: any) => void} listener
 * @param {(isConnected: boolean) => void} [tell] called when the connection is made or lost
 * @returns {() => void} ends it
 */
export function tail(query, listener, tell = () => {}) {
  const known = new Set();
  let lastId = '';
  let pause = shortestPause;
  let looking = new AbortController();

  const take = (record) => {
    // the stream also has notices, which have no id
    if (record.id === undefined || known.has(record.id)) return;
    lastId = record.id;
    known.add(record.id);
    if (known.size > mostKnown) known.delete(known.values().next().value);
    listener(record);
  };
  // EventSource is not used: it gives up for good at the first 502, and a new one cannot send the id of the last event
  const listen = async (signal) => {
    const response = await fetch(`/api/logs/stream?${query}`, {
      signal,
      cache: 'no-store',
      headers: { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) },
    });
    if (!response.ok) return;
    pause = shortestPause;
    // the time is taken from the gateway's clock, because the browser's may differ
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
