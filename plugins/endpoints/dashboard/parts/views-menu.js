/** The menu of saved views: addresses with a name, which have the filters, the columns and the range of time. */
import { html } from './html.js';
import { Later } from './later.js';
import { Menu } from './menu.js';

const savedViews = () => import('./saved-views.js').then((part) => part.SavedViews);

/** @param {{ href: string }} props `href` is the address that can be saved */
export const ViewsMenu = ({ href }) =>
  html`<${Menu} name="views" icon="views" label="Views" title="Saved views (v)">
    ${(close) => html`<${Later} load=${savedViews} href=${href} close=${close} />`}
  <//>`;
