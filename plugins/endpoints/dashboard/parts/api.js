/** Requests to the API of the gateway. A request whose answer is no longer needed is cancelled. */
import { useEffect, useState } from './html.js';
import { linesOf } from './lines.js';
import { takeTime } from './time-now.js';

/** An error reply. `status` is 0 where the gateway did not answer. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Sends a request and returns the JSON of its answer. Throws an `ApiError`.
 * @param {string} path
 * @param {RequestInit} [init]
 */
export const ask = async (path, init) => (await asked(path, init)).body;

/**
 * The answer with its tag. The body is undefined after a 304: it has not changed since the tag that `init` sends as `if-none-match`.
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {(part: any) => void} [tell] called while an answer comes in parts, with everything that has come so far
 */
async function asked(path, init = {}, tell = () => {}) {
  let response, body;
  try {
    response = await fetch(path, {
      ...init,
      headers: { accept: 'application/json', .../** @type {Record<string, string> | undefined} */ (init.headers) },
    });
    takeTime(response);
    body = await (response.headers.get('content-type') === 'application/x-ndjson' ? inParts(response, tell) : whole(response));
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'The gateway does not answer.');
  }
  if (response.ok || response.status === 304) return { tag: response.headers.get('etag'), body: response.ok ? body : undefined };
  const { code, message = `Status ${response.status}` } = body.error ?? {};
  if (response.status === 401) dispatchEvent(new CustomEvent('gateway:signed-out'));
  // every error of the gateway has a code, so this one is of a proxy, whose gateway may be restarting
  if (code === undefined && response.status >= 500) throw new ApiError(response.status, 'unreachable', `${message}.`);
  throw new ApiError(response.status, code ?? 'error', message);
}

/** @param {Response} response */
async function whole(response) {
  const text = await response.text();
  // a proxy before the gateway may answer with a page of its own, or with nothing: its 200 must not count as data
  return response.ok || /^[[{]/.test(text) ? JSON.parse(text) : {};
}

/**
 * An answer of several lines of JSON; each line has some fields of the answer.
 * @param {Response} response @param {(part: any) => void} tell
 */
async function inParts(response, tell) {
  let answer = {};
  for await (const line of linesOf(response)) {
    answer = { ...answer, ...JSON.parse(line) };
    if (answer.more) tell(answer);
  }
  return answer;
}

/** Sends JSON. Throws an `ApiError`. @param {string} path @param {unknown} body @param {string} [method] */
export const send = (path, body, method = 'POST') =>
  ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** @typedef {{ query: (data: any) => string, join: (data: any, changed: any) => any }} Changes */
/** @typedef {{ tag: string | null, url: string, data: any, times: number }} Known the last answer, and how many came */

/**
 * After this many requests for changes, the page asks for everything again:
 * a request may end long after it came, and then belongs to an earlier time.
 */
const timesUntilWhole = 30;

/** After so much silence, the page says that its figures may be old: a browser may notice only much later that a connection is lost. */
const silenceMs = 30_000;
const silent = new ApiError(0, 'silent', 'It may be busy, or the connection is lost. Nothing here is new until it answers.');

/** @type {Known} */
const nothingKnown = { tag: null, url: '', data: null, times: 0 };

/**
 * Asks once more, and returns what is then known of the path. With `changes`, most requests ask only for what has changed. A request
 * sends the tag of the last answer, so that the gateway does not send an unchanged answer again.
 * @param {string} path @param {Known} known
 * @param {{ changes?: Changes, signal: AbortSignal, begun: (part: any) => void }} how
 */
async function askedAgain(path, known, { changes, signal, begun }) {
  const isPart = changes !== undefined && known.times % timesUntilWhole !== 0;
  const url = isPart ? path + changes.query(known.data) : path;
  const headers = url === known.url && known.tag !== null ? { 'if-none-match': known.tag } : {};
  const { tag, body } = await asked(url, { signal, headers }, begun);
  // an unchanged answer counts as a new one, because the times on the page move on
  const data = body === undefined ? { ...known.data } : isPart ? changes.join(known.data, body) : body;
  return { tag, url, data, times: known.times + 1 };
}

/**
 * Calls `load` at once, and again `everyMs` after each call has ended; 0 means one call. Returns a function that stops the calls.
 * @param {() => Promise<boolean>} load says whether to go on
 * @param {number} everyMs
 */
function repeat(load, everyMs) {
  let timer = 0;
  let isDue = false;
  let isOver = false;
  const turn = async () => {
    isDue = document.hidden && timer !== 0;
    const goesOn = isDue || (await load());
    if (goesOn && everyMs > 0 && !isOver) timer = setTimeout(turn, everyMs);
  };
  // a page that was hidden shows figures of that time, and its next request may be a minute away
  const shown = () => {
    if (!isDue || document.hidden) return;
    clearTimeout(timer);
    void turn();
  };
  document.addEventListener('visibilitychange', shown);
  void turn();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', shown);
  };
}

/**
 * The answer of the API for a path. While a new answer is loading, the last answer stays, and the last error does not. After an error the
 * answer stays only where it is of the same path.
 * @param {string | null} path null sends no request
 * @param {{ everyMs?: number, changes?: Changes }} [options] `everyMs` repeats the request after so many milliseconds; 0 does not.
 *   `changes`: a repeated request asks with `query` for what has changed, and `join` puts that into the data; now and then everything is
 *   asked for again
 */
export function useData(path, { everyMs = 0, changes } = {}) {
  const [again, setAgain] = useState(0);
  const [state, setState] = useState(
    /** @type {{ data: any, error: ApiError | null, path: string | null }} */ ({ data: null, error: null, path: null }),
  );
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    let known = nothingKnown;
    // the first part of a new answer replaces its own fields only; the other fields of the last answer stay until the rest comes
    const begun = (part) => {
      clearTimeout(silence);
      setState((before) => ({ data: before.path === path ? { ...before.data, ...part } : part, error: null, path }));
    };
    const failed = (/** @type {ApiError} */ error) =>
      setState((before) => ({ data: before.path === path ? before.data : null, error, path }));
    let silence = 0;
    const load = async () => {
      silence = setTimeout(failed, silenceMs, silent);
      try {
        known = await askedAgain(path, known, { changes, signal, begun });
        if (!signal.aborted) setState({ data: known.data, error: null, path });
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        known = nothingKnown;
        failed(/** @type {ApiError} */ (error));
        // the config does not list the plugin of this endpoint, and each repeated request would be a row of the log
        return !(error instanceof ApiError && error.code === 'unknown_url');
      } finally {
        clearTimeout(silence);
      }
    };
    const stop = repeat(load, everyMs);
    return () => {
      controller.abort();
      stop();
    };
  }, [path, everyMs, again]);
  return {
    data: state.data,
    error: state.path === path ? state.error : null,
    loading: path !== null && state.path !== path,
    reload: () => setAgain((count) => count + 1),
  };
}
