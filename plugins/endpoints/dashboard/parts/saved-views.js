/** The list of saved views: named links that this browser keeps. The present address can be saved, and each view can be deleted. */
import { html, useEffect, useRef, useState } from './html.js';
import { Icon } from './icons.js';
import { say } from './say.js';
import { read, write } from './storage.js';

/** @typedef {{ name: string, href: string }} View */

/** @returns {View[]} */
function kept() {
  try {
    // safety: the storage may contain any text, so only links to pages of the dashboard are used
    return JSON.parse(read('views') ?? '[]').filter(({ name, href }) => typeof name === 'string' && /^\/dashboard(?:[/?]|$)/.test(href));
  } catch {
    // the stored text is not a list of views: it counts as an empty list
    return [];
  }
}

/** @param {{ href: string, close: () => void }} props */
export function SavedViews({ href, close }) {
  const [views, setViews] = useState(kept);
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  const focusFirst = () => /** @type {HTMLElement | null} */ (root.current?.querySelector('a,input'))?.focus();
  useEffect(focusFirst, []);
  const keep = (next) => {
    write('views', JSON.stringify(next));
    setViews(next);
  };
  const save = (event) => {
    event.preventDefault();
    const name = event.target.elements.name.value.trim();
    if (name === '') return;
    // another tab may have saved or deleted views since this list was opened
    keep([...kept().filter((view) => view.name !== name), { name, href }].sort((a, b) => a.name.localeCompare(b.name)));
    say(`View "${name}" saved`);
    close();
  };
  const remove = (name) => {
    keep(kept().filter((view) => view.name !== name));
    focusFirst();
  };
  return html`<div class="views" ref=${root}>
    ${
      views.length === 0
        ? html`<p class="soft">Give these filters, columns and this time a name, and find them here again.</p>`
        : html`<ul class="menu-list">${views.map(
            (view) => html`<li key=${view.name}>
              <a href=${view.href} aria-current=${view.href === href ? 'true' : undefined} onClick=${close}>
                ${view.name}
                <span class="soft">${view.href.startsWith('/dashboard/logs') ? 'Logs' : 'Breakdown'}</span>
              </a>
              <button
                type="button"
                class="button button-plain"
                aria-label=${`Delete the view ${view.name}`}
                title="Delete"
                onClick=${() => remove(view.name)}
              ><${Icon} name="close" /></button>
            </li>`,
          )}</ul>`
    }
    <form class="menu-form" onSubmit=${save}>
      <label>Name <input name="name" required maxlength="60" autocomplete="off" placeholder="Errors of the search team" /></label>
      <button class="button">Save this view</button>
    </form>
  </div>`;
}
