/** Questions to the server. A question that nobody waits for any more is cancelled. */
import { useEffect, useState } from './html.js';
import { linesOf } from './lines.js';

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {(part: any) => void} [tell] of an answer that comes in parts: what is there so far, while there is more
 */
export async function ask(path, init = {}, tell = () => {}) {
  let response, body;
  try {
    response = await fetch(path, { ...init, headers: { accept: 'application/json', .../** @type {Record<string, string> | undefined} */ (init.headers) } });
    body = await (response.headers.get('content-type') === 'application/x-ndjson' ? inParts(response, tell) : whole(response));
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'The gateway does not answer.');
  }
  if (response.ok) return body;
  const { code = 'error', message = `Status ${response.status}` } = body.error ?? {};
  if (response.status === 401) dispatchEvent(new CustomEvent('gateway:signed-out'));
  throw new ApiError(response.status, code, message);
}

/** @param {Response} response */
async function whole(response) {
  const text = await response.text();
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {};
}

/** Lines of JSON, each with some fields of the answer. @param {Response} response @param {(part: any) => void} tell */
async function inParts(response, tell) {
  let answer = {};
  for await (const line of linesOf(response)) {
    answer = { ...answer, ...JSON.parse(line) };
    if (answer.more) tell(answer);
  }
  return answer;
}

/** @param {string} path @param {unknown} body @param {string} [method] */
export const send = (path, body, method = 'POST') => ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/**
 * What the server says to a path. While a new answer is on its way the last one stays; where there is none, only that of the same path.
 * @param {string | null} path null: nothing is asked
 * @param {{ everyMs?: number }} [options]
 */
export function useData(path, { everyMs = 0 } = {}) {
  const [again, setAgain] = useState(0);
  const [state, setState] = useState(/** @type {{ data: any, error: ApiError | null, path: string | null }} */ ({ data: null, error: null, path: null }));
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let timer = 0;
    // of an answer that was there before, what is not known anew yet stays
    const begun = (part) => setState((before) => ({ data: before.path === path ? { ...before.data, ...part } : part, error: null, path }));
    const load = async () => {
      try {
        const data = document.hidden && timer !== 0 ? null : await ask(path, { signal: controller.signal }, begun);
        if (data !== null && !controller.signal.aborted) setState({ data, error: null, path });
      } catch (error) {
        if (controller.signal.aborted) return;
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
