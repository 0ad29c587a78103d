/** The state of the page is its address: read here, changed here, and back and forward just work. */
import { useEffect, useState } from './html.js';

/** @type {Set<() => void>} */
const listeners = new Set();
/** Shows the page anew, where something changed that is not in its address too. */
export const notify = () => listeners.forEach((listener) => listener());

/** What an entry of the history keeps beside its address: where its page was scrolled to, and the list that led to its request. @returns {{ top?: number, list?: string }} */
const entry = () => history.state ?? {};

const logs = '/dashboard/logs';
/** The address of the list from which one came to a request; null where one did not. */
export const listBefore = () => (location.pathname.startsWith(`${logs}/`) ? (entry().list ?? null) : null);

/** @param {string} href @param {{ replace?: boolean }} [how] */
export function go(href, { replace = false } = {}) {
  if (href === location.pathname + location.search) return;
  const { pathname } = location;
  const list = pathname === logs ? pathname + location.search : listBefore();
  if (!replace) remember();
  const kept = { ...(replace && entry()), ...(list !== null && { list }) };
  history[replace ? 'replaceState' : 'pushState'](kept, '', href);
  wanted = null;
  notify();
  if (location.pathname !== pathname) scrollTo(0, 0);
}

/** Where a page that one came back to was scrolled to, while it may still grow or give way to the next; null: nowhere. @type {number | null} */
let wanted = null;
const patienceMs = 5000;
let patience = 0;

function remember() {
  if (wanted === null && (history.state === null || Math.round(scrollY) !== (entry().top ?? 0))) history.replaceState({ ...entry(), top: Math.round(scrollY) }, '');
}

/** As far as the page is long enough by now. */
function restore() {
  if (wanted !== null && document.documentElement.scrollHeight - innerHeight >= wanted) scrollTo(0, wanted);
}

function comeBack() {
  // an entry of which nothing is known is new, or a place within the page
  wanted = history.state === null ? null : (entry().top ?? 0);
  clearTimeout(patience);
  patience = setTimeout(() => (wanted = null), patienceMs);
  restore();
}

// the browser would scroll while the page is still empty
history.scrollRestoration = 'manual';
new ResizeObserver(restore).observe(document.documentElement);
for (const name of ['wheel', 'touchstart', 'pointerdown', 'keydown']) addEventListener(name, () => (wanted = null), { passive: true, capture: true });
let timer = 0;
// once at the begin, for a jump that is followed by another page, and once at the end: some browsers count changes of the history
addEventListener('scroll', () => {
  if (timer === 0) remember();
  clearTimeout(timer);
  timer = setTimeout(() => {
    timer = 0;
    remember();
  }, 200);
}, { passive: true });
addEventListener('popstate', () => {
  clearTimeout(timer);
  timer = 0;
  notify();
  comeBack();
});
comeBack();

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
