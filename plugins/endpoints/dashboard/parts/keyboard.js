/** Keys: a letter acts where nobody is typing. `g` and then a letter opens a page. */
import { useEffect, useRef, useState } from './html.js';
import { go, hrefOf } from './location.js';
import { idAlone, isWholeId } from './record-id.js';
import { timeOf } from './time-of.js';
import { copyText } from './say.js';

const pages = {
  o: '/dashboard',
  l: '/dashboard/logs',
  v: '/dashboard/conversations',
  b: '/dashboard/breakdown',
  s: '/dashboard/spend',
  m: '/dashboard/models',
  p: '/dashboard/providers',
  k: '/dashboard/keys',
  y: '/dashboard/playground',
  n: '/dashboard/connect',
  c: '/dashboard/config',
};

/** The keys of pages that have a range of time; they keep the range of the page before. */
const timed = ['o', 'l', 'v', 'b'];

/** The keys that open a menu, where the page has it. */
const menus = { t: 'time', e: 'export', v: 'views' };

/** Whether an element takes letters. @param {EventTarget | null} target */
export const isTyping = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The place to which an arrow key goes in a list that goes around; `at` is -1 before the first key. */
export const stepped = (at, step, many) => (Math.max(at, step < 0 ? 0 : -1) + step + many) % many;

/** While a dialog is open, keys do nothing behind it. */
const isInDialog = () => document.querySelector('dialog[open]') !== null;

/**
 * Adds the keys of one part of the page, by `event.key`.
 * @param {Record<string, (event: KeyboardEvent) => void>} keys
 */
export function useKeys(keys) {
  // two keys may come before the page is drawn again; the second must see what the first has changed
  const newest = useRef(keys);
  newest.current = keys;
  useEffect(() => {
    const pressed = (event) => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isInDialog()) return;
      if (awaitsPage || (isTyping(event.target) && event.key !== 'Escape')) return;
      const act = newest.current[event.key];
      if (act === undefined) return;
      // Enter on a focused link or button belongs to that element
      if (event.key === 'Enter' && event.target !== document.body && event.target.closest('a,button,summary')) return;
      event.preventDefault();
      act(event);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

let awaitsPage = false;
let waiting = 0;

/** Adds the keys that every page has. Returns the state of the help dialog. */
export function useShortcuts() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(() => {
    const pressed = (event) => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || isInDialog()) return;
      if (awaitsPage) {
        awaitsPage = false;
        const page = pages[/** @type {keyof typeof pages} */ (event.key)];
        event.preventDefault();
        if (page !== undefined) go(timed.includes(event.key) ? hrefOf(page, timeOf(new URLSearchParams(location.search))) : page);
        return;
      }
      if (event.key === 'g') {
        awaitsPage = true;
        // the timer of an earlier `g` must not end the wait of this `g`
        clearTimeout(waiting);
        waiting = setTimeout(() => (awaitsPage = false), 1500);
      } else if (event.key === '?') setHelpOpen(true);
      else if (event.key === '/') search(event);
      else if (Object.hasOwn(menus, event.key)) {
        focus(`[data-menu="${menus[/** @type {keyof typeof menus} */ (event.key)]}"]`, event)?.click();
      } else if (event.key === 'c') void copyText(location.href, 'Link');
    };
    // in the capture phase, so that this runs before the keys of a page
    addEventListener('keydown', pressed, true);
    addEventListener('paste', pasted);
    return () => {
      removeEventListener('keydown', pressed, true);
      removeEventListener('paste', pasted);
    };
  }, []);
  return { isHelpOpen, openHelp: () => setHelpOpen(true), closeHelp: () => setHelpOpen(false) };
}

/** Focuses the search line; a page without a search line goes to Logs, which has it. @param {KeyboardEvent} event */
function search(event) {
  if (focus('.search input', event) !== null) return;
  event.preventDefault();
  go(hrefOf('/dashboard/logs', timeOf(new URLSearchParams(location.search))));
  const observer = new MutationObserver(() => void (focus('.search input', event) && observer.disconnect()));
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), 3000);
}

/** The id of a request, pasted anywhere, opens it. @param {ClipboardEvent} event */
function pasted(event) {
  const id = isTyping(event.target) || isInDialog() ? null : idAlone(event.clipboardData?.getData('text') ?? '');
  if (id !== null) go(isWholeId(id) ? `/dashboard/logs/${id}` : `/dashboard/logs?id=${id}`);
}

function focus(selector, event) {
  const found = document.querySelector(selector);
  if (found === null) return null;
  event.preventDefault();
  found.focus();
  return found;
}
