/** Questions to the server. A question that nobody waits for any more is cancelled. */
import { useEffect, useState } from './html.js';

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @param {string} path @param {RequestInit} [init] */
export async function ask(path, init = {}) {
  let response;
  try {
    response = await fetch(path, { ...init, headers: { accept: 'application/json', .../** @type {Record<string, string> | undefined} */ (init.headers) } });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'The gateway does not answer.');
  }
  const text = await response.text();
  const body = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {};
  if (response.ok) return body;
  const { code = 'error', message = `Status ${response.status}` } = body.error ?? {};
  if (response.status === 401) dispatchEvent(new CustomEvent('gateway:signed-out'));
  throw new ApiError(response.status, code, message);
}

/** @param {string} path @param {unknown} body @param {string} [method] */
export const send = (path, body, method = 'POST') => ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/**
 * What the server says to one path, or to several at once. While a new answer is on its way the last one stays.
 * @param {string | readonly string[] | null} paths null: nothing is asked
 * @param {{ everyMs?: number }} [options]
 */
export function useData(paths, { everyMs = 0 } = {}) {
  const key = paths === null ? null : [paths].flat().join('\n');
  const [again, setAgain] = useState(0);
  const [state, setState] = useState(/** @type {{ data: any, error: ApiError | null, key: string | null }} */ ({ data: null, error: null, key: null }));
  useEffect(() => {
    if (key === null) return undefined;
    const controller = new AbortController();
    let timer = 0;
    const load = async () => {
      try {
        const answers = document.hidden && timer !== 0 ? null : await Promise.all(key.split('\n').map((path) => ask(path, { signal: controller.signal })));
        if (answers !== null && !controller.signal.aborted) setState({ data: Array.isArray(paths) ? answers : answers[0], error: null, key });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...before, error: /** @type {ApiError} */ (error), key }));
      }
      if (everyMs > 0 && !controller.signal.aborted) timer = setTimeout(load, everyMs);
    };
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, again]);
  return { data: state.data, error: state.error, loading: key !== null && state.key !== key, reload: () => setAgain((count) => count + 1) };
}
