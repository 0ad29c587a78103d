/** Requests to the API of the gateway. A request whose answer is no longer needed is cancelled. */
import { useEffect, useState } from './html.js';
import { linesOf } from './lines.js';

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
 * The answer with its tag. The body is undefined where it is still that of the tag `if-none-match` in `init`.
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
    body = await (response.headers.get('content-type') === 'application/x-ndjson' ? inParts(response, tell) : whole(response));
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'The gateway does not answer.');
  }
  if (response.ok || response.status === 304) return { tag: response.headers.get('etag'), body: response.ok ? body : undefined };
  const { code = 'error', message = `Status ${response.status}` } = body.error ?? {};
  if (response.status === 401) dispatchEvent(new CustomEvent('gateway:signed-out'));
  throw new ApiError(response.status, code, message);
}

/** @param {Response} response */
async function whole(response) {
  const text = await response.text();
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {};
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

/**
 * After this many requests for changes, the page asks for everything again:
 * a request may end long after it came, and then belongs to an earlier time.
 */
const timesUntilWhole = 30;

/**
 * The answer of the API for a path. While a new answer is loading, the last answer stays, and the last error does not. After an error the
 * answer stays only where it is of the same path.
 * @param {string | null} path null sends no request
 * @param {{ everyMs?: number, changes?: { query: (data: any) => string, join: (data: any, changed: any) => any } }} [options] `everyMs`
 *   repeats the request after so many milliseconds; 0 does not. `changes`: a repeated request asks with `query` for what has changed, and
 *   `join` puts that into the data; now and then everything is asked for again
 */
export function useData(path, { everyMs = 0, changes } = {}) {
  const [again, setAgain] = useState(0);
  const [state, setState] = useState(
    /** @type {{ data: any, error: ApiError | null, path: string | null }} */ ({ data: null, error: null, path: null }),
  );
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let timer = 0;
    let isDue = false;
    let known = /** @type {{ tag: string | null, url: string, data: any, times: number }} */ ({ tag: null, url: '', data: null, times: 0 });
    // the first part of a new answer replaces its own fields only; the other fields of the last answer stay until the rest comes
    const begun = (part) => setState((before) => ({ data: before.path === path ? { ...before.data, ...part } : part, error: null, path }));
    const load = async () => {
      isDue = document.hidden && timer !== 0;
      try {
        const isPart = changes !== undefined && known.times % timesUntilWhole !== 0;
        const url = isPart ? path + changes.query(known.data) : path;
        const answer = isDue
          ? null
          : await asked(
              url,
              { signal: controller.signal, headers: url === known.url && known.tag !== null ? { 'if-none-match': known.tag } : {} },
              begun,
            );
        if (answer !== null && !controller.signal.aborted) {
          // an unchanged answer counts as a new one, because the times on the page move on
          const data = answer.body === undefined ? { ...known.data } : isPart ? changes.join(known.data, answer.body) : answer.body;
          known = { tag: answer.tag, url, data, times: known.times + 1 };
          setState({ data, error: null, path });
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        known = { tag: null, url: '', data: null, times: 0 };
        setState((before) => ({ data: before.path === path ? before.data : null, error: /** @type {ApiError} */ (error), path }));
        // the config does not list the plugin of this endpoint, and each repeated request would be a row of the log
        if (error instanceof ApiError && error.code === 'unknown_url') return;
      }
      if (everyMs > 0 && !controller.signal.aborted) timer = setTimeout(load, everyMs);
    };
    // a page that was hidden shows figures of that time, and its next request may be a minute away
    const shown = () => {
      if (!isDue || document.hidden) return;
      clearTimeout(timer);
      void load();
    };
    document.addEventListener('visibilitychange', shown);
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [path, everyMs, again]);
  return {
    data: state.data,
    error: state.path === path ? state.error : null,
    loading: path !== null && state.path !== path,
    reload: () => setAgain((count) => count + 1),
  };
}
