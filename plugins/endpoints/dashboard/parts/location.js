/** The state of the page is its address: read here, changed here, and back and forward just work. */
import { useEffect, useState } from './html.js';

/** @type {Set<() => void>} */
const listeners = new Set();
/** Shows the page anew, where something changed that is not in its address too. */
export const notify = () => listeners.forEach((listener) => listener());

addEventListener('popstate', notify);

/** @param {string} href @param {{ replace?: boolean }} [how] */
export function go(href, { replace = false } = {}) {
  if (href === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  notify();
}

/** Links of our own load no new page. */
addEventListener('click', (event) => {
  const link = /** @type {Element} */ (event.target).closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download') || event.defaultPrevented) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || !/^\/dashboard(?:\/|$)/.test(link.pathname) || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
});

/** @returns {{ path: string, params: URLSearchParams }} */
export function useLocation() {
  const [, setTimes] = useState(0);
  useEffect(() => {
    const changed = () => setTimes((times) => times + 1);
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return { path: location.pathname, params: new URLSearchParams(location.search) };
}

/**
 * The address of here with some parameters changed; null removes one.
 * @param {Record<string, string | null>} changes
 * @param {URLSearchParams} [from]
 */
export function withParams(changes, from = new URLSearchParams(location.search)) {
  const params = new URLSearchParams(from);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  return hrefOf(location.pathname, params);
}

/** Keeps what a person reads readable: `meta.team=search`, `since=24h`. */
export function hrefOf(path, params) {
  const text = String(params).replaceAll('%3E', '>').replaceAll('%3C', '<').replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%2C', ',');
  return text === '' ? path : `${path}?${text}`;
}
