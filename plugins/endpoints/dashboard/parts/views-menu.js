/** Addresses with a name: a filter, its columns and its time, found again. */
import { html } from './html.js';
import { Later } from './later.js';
import { Menu } from './menu.js';

const savedViews = () => import('./saved-views.js').then((part) => part.SavedViews);

/** @param {{ href: string }} props the address that is saved */
export const ViewsMenu = ({ href }) => html`<${Menu} name="views" icon="views" label="Views" title="Saved views (v)">${(close) => html`<${Later} load=${savedViews} href=${href} close=${close} />`}<//>`;
