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
    response = await fetch(path, { ...init, headers: { accept: 'application/json', .../** @type {Record<string, string> | undefined} */ (init.headers) } });
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

/** An answer of several lines of JSON; each line has some fields of the answer. @param {Response} response @param {(part: any) => void} tell */
async function inParts(response, tell) {
  let answer = {};
  for await (const line of linesOf(response)) {
    answer = { ...answer, ...JSON.parse(line) };
    if (answer.more) tell(answer);
  }
  return answer;
}

/** Sends JSON. Throws an `ApiError`. @param {string} path @param {unknown} body @param {string} [method] */
export const send = (path, body, method = 'POST') => ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/**
 * The answer of the API for a path. While a new answer is loading, the last answer stays. After an error it stays only where it is of
 * the same path.
 * @param {string | null} path null sends no request
 * @param {{ everyMs?: number }} [options] `everyMs` repeats the request after so many milliseconds; 0 does not
 */
export function useData(path, { everyMs = 0 } = {}) {
  const [again, setAgain] = useState(0);
  const [state, setState] = useState(/** @type {{ data: any, error: ApiError | null, path: string | null }} */ ({ data: null, error: null, path: null }));
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let timer = 0;
    let tag = /** @type {string | null} */ (null);
    // the first part of a new answer replaces its own fields only; the other fields of the last answer stay until the rest comes
    const begun = (part) => setState((before) => ({ data: before.path === path ? { ...before.data, ...part } : part, error: null, path }));
    const load = async () => {
      try {
        const answer = document.hidden && timer !== 0 ? null : await asked(path, { signal: controller.signal, headers: tag === null ? {} : { 'if-none-match': tag } }, begun);
        if (answer !== null && !controller.signal.aborted) {
          tag = answer.tag;
          // an answer that is the same counts as a new one: the times of the page move on
          setState((before) => ({ data: answer.body === undefined ? { ...before.data } : answer.body, error: null, path }));
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        tag = null;
        setState((before) => ({ data: before.path === path ? before.data : null, error: /** @type {ApiError} */ (error), path }));
      }
      if (everyMs > 0 && !controller.signal.aborted) timer = setTimeout(load, everyMs);
    };
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [path, everyMs, again]);
  return { data: state.data, error: state.error, loading: path !== null && state.path !== path, reload: () => setAgain((count) => count + 1) };
}
