/** The menu with files of the data that the page shows. */
import { html } from './html.js';
import { Menu } from './menu.js';

/** @param {{ files: (readonly [href: string, name: string, holds: string])[] }} props */
export const ExportMenu = ({ files }) =>
  html`<${Menu} name="export" icon="export" label="Export" title="Export (e)">${(close) => html`<div class="menu-list">
    ${files.map(
      ([href, name, holds]) => html`<a key=${href} href=${href} download onClick=${close}>${name} <span class="soft">${holds}</span></a>`,
    )}
  </div>`}<//>`;
