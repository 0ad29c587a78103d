/** The panel with one request beside the list. The list stays visible, and keys open the requests next to this one. */
import { html, useLayoutEffect, useRef } from './html.js';
import { isTyping } from './keyboard.js';
import { go, withParams } from './location.js';
import { Icon } from './icons.js';
import { RequestDetail } from './request-detail.js';

/** @param {{ id: string, params: URLSearchParams, records: { id: string }[] }} props */
export function RequestPanel({ id, params, records }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = useRef(id);
  shown.current = id;
  // before the next frame: a key that comes in between may have put the focus elsewhere
  useLayoutEffect(() => {
    const { current } = panel;
    const writing = document.activeElement;
    // this part may be loaded late, when somebody already writes in a field: without that focus, the next letters would be keys of the page
    if (!isTyping(writing) || writing.value === '') current?.focus({ preventScroll: true });
    return () => void (current?.contains(document.activeElement) && rowOr(shown.current)?.focus({ preventScroll: true }));
  }, []);
  const at = records.findIndex((record) => record.id === id);
  const beside = (step) => records[at + step]?.id;
  const close = () => go(withParams({ log: null, tab: null }, params));
  return html`<aside class="panel" ref=${panel} tabindex="-1" aria-label="Request">
    <div class="panel-bar">
      <button type="button" class="button button-plain" onClick=${close} aria-label="Close" title="Close (Esc)">
        <${Icon} name="close" />
      </button>
      <span class="panel-walk">
        <${Neighbour} id=${at < 0 ? undefined : beside(-1)} icon="left" label="Previous request" hint="[" params=${params} />
        <${Neighbour} id=${at < 0 ? undefined : beside(1)} icon="right" label="Next request" hint="]" params=${params} />
      </span>
      <a class="button button-plain" href=${`/dashboard/logs/${id}`}>Open as a page</a>
    </div>
    <${RequestDetail} id=${id} params=${params} />
  </aside>`;
}

/**
 * Where the focus goes when the panel closes: to the row of its request, or to the page where the list no longer has that row.
 * @param {string} id @returns {HTMLElement | null}
 */
const rowOr = (id) =>
  [...document.querySelectorAll('.row-link')].find((link) => new URL(link.href).searchParams.get('log') === id) ??
  document.getElementById('main');

function Neighbour({ id, icon, label, hint, params }) {
  if (id === undefined) return html`<span class="button button-plain is-off" aria-hidden="true"><${Icon} name=${icon} /></span>`;
  return html`<a class="button button-plain" href=${withParams({ log: id }, params)} aria-label=${label} title=${`${label} (${hint})`}>
    <${Icon} name=${icon} />
  </a>`;
}
