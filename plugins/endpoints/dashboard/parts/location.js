/** Reads and changes the address, which has the whole state of the page. Back and forward therefore work. */
import { useEffect, useState } from './html.js';

/** @type {Set<() => void>} */
const listeners = new Set();
/** Draws the page again, also after a change of something that is not in the address. */
export const notify = () => listeners.forEach((listener) => listener());

/**
 * What the history keeps for the present entry: how far its page was scrolled, the address of the list from which a request was opened,
 * and `isFilled`, with which the playground marks an address that has filled its form.
 * @returns {{ top?: number, list?: string, isFilled?: boolean }}
 */
const entry = () => history.state ?? {};

const logs = '/dashboard/logs';
/** The address of the list from which the present request was opened; null where there is no such list. */
export const listBefore = () => (location.pathname.startsWith(`${logs}/`) ? (entry().list ?? null) : null);

/**
 * Goes to an address of the dashboard.
 * @param {string} href @param {{ replace?: boolean }} [how] `replace` makes no new entry in the history
 */
export function go(href, { replace = false } = {}) {
  // in the address of the page, characters such as `>` are encoded
  const to = new URL(href, location.href);
  if (to.pathname + to.search === location.pathname + location.search) return;
  const { pathname } = location;
  const list = pathname === logs ? pathname + location.search : listBefore();
  if (!replace) remember();
  const kept = { ...(replace && entry()), ...(list !== null && { list }) };
  history[replace ? 'replaceState' : 'pushState'](kept, '', href);
  wanted = null;
  notify();
  if (location.pathname !== pathname) scrollTo(0, 0);
}

/**
 * After back or forward: the scroll position to restore, in pixels; null when
 * it is restored, or when somebody scrolls, clicks or types. @type {number | null}
 */
let wanted = null;
const patienceMs = 5000;
let patience = 0;

function remember() {
  if (wanted === null && (history.state === null || Math.round(scrollY) !== (entry().top ?? 0))) {
    history.replaceState({ ...entry(), top: Math.round(scrollY) }, '');
  }
}

/**
 * Scrolls to the earlier place, as soon as the page is long enough, and
 * for some seconds more, because parts above the place may still come.
 */
function restore() {
  if (wanted === null || document.documentElement.scrollHeight - innerHeight < wanted) return;
  scrollTo(0, wanted);
  if (patience === 0) patience = setTimeout(() => (wanted = null), patienceMs);
}

function comeBack() {
  // an entry without state is new, or is an anchor within the page
  wanted = history.state === null ? null : (entry().top ?? 0);
  clearTimeout(patience);
  patience = 0;
  restore();
}

// the browser itself would scroll too early, while the page is still empty
history.scrollRestoration = 'manual';
new ResizeObserver(restore).observe(document.documentElement);
for (const name of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
  addEventListener(name, () => (wanted = null), { passive: true, capture: true });
}
let timer = 0;
// remembers the place at the beginning of a scroll (the next page may follow at
// once) and at its end, not more often: some browsers limit changes of the history
addEventListener(
  'scroll',
  () => {
    if (timer === 0) remember();
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      remember();
    }, 200);
  },
  { passive: true },
);
addEventListener('popstate', () => {
  clearTimeout(timer);
  timer = 0;
  notify();
  comeBack();
});
comeBack();

/** A click on a link of the dashboard changes the address without loading a page. */
addEventListener('click', (event) => {
  const link = /** @type {Element} */ (event.target).closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download') || event.defaultPrevented) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || !/^\/dashboard(?:\/|$)/.test(link.pathname) || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
});

/**
 * The path and the parameters of the address; the component is drawn again when they change.
 * @returns {{ path: string, params: URLSearchParams }}
 */
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
 * The present address with some parameters changed; null removes a parameter.
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

/** An address from a path and parameters. Characters such as `>` and `:` are not encoded, so that people can read it. */
export function hrefOf(path, params) {
  const text = String(params)
    .replaceAll('%3E', '>')
    .replaceAll('%3C', '<')
    .replaceAll('%3A', ':')
    .replaceAll('%2F', '/')
    .replaceAll('%2C', ',');
  return text === '' ? path : `${path}?${text}`;
}
