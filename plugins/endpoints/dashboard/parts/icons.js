/** Line icons of 16 by 16 pixels, in the colour of the text beside them. */
import { html } from './html.js';

const paths = {
  overview: 'M2 9.5 5 6l3 2.5L14 3M2 13.5h12',
  logs: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  breakdown: 'M2.5 3.5h11M2.5 8h7.5M2.5 12.5h4',
  conversations: 'M2.5 3h8v5.5h-4L4 11V8.5H2.5ZM12 6h1.5v5H12v2.2L9.8 11H6.5',
  spend: 'M10.8 5.4C10.3 4.5 9.3 4 8 4 6.3 4 5.2 4.8 5.2 6c0 2.9 5.8 1.2 5.8 4.1 0 1.2-1.2 2-3 2-1.5 0-2.6-.6-3.1-1.6M8 2v2M8 12v2',
  models: 'M8 1.8 13.5 5v6L8 14.2 2.5 11V5ZM2.5 5 8 8.2 13.5 5M8 8.2v6',
  providers: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  keys: 'M10 2.5a3.5 3.5 0 1 1-2.6 5.8L2.5 13.2M4.5 11.2l1.6 1.6M10.3 5.7h.01',
  playground: 'M3.5 2.8 12.8 8l-9.3 5.2Z',
  connect: 'M6 2v3.5M10 2v3.5M4 5.5h8V8a4 4 0 0 1-8 0ZM8 12v2.5',
  config: 'M2.5 4.5h5M10.5 4.5h3M2.5 11.5h3M8.5 11.5h5M9 3v3M7 10v3',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.4 10.4 14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  alert: 'M8 2 14.5 13.5h-13ZM8 6.5v3.2M8 11.6h.01',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2ZM8 4.8V8l2.2 1.6',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  link: 'M6.5 9.5l3-3M7 4.5 8.6 2.9a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.6 1.6a3 3 0 0 1-4.5-4.5L4.5 7',
  down: 'M4 6l4 4 4-4',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  right: 'M6 3.5 10.5 8 6 12.5',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z',
  system: 'M2 3h12v8H2zM5.5 13.5h5',
  help: 'M6 6a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.3M8 11.8h.01M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z',
  export: 'M8 2.5v7M5 6.8 8 9.8l3-3M2.5 12.5v1h11v-1',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  views: 'M4 2.5h8v11L8 10.2l-4 3.3Z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6',
  replay: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.5v2.6h2.6',
  out: 'M9.5 3h-6v10h6M7 8h7M11.5 5.5 14 8l-2.5 2.5',
};

/** @param {{ name: keyof typeof paths, label?: string }} props */
export const Icon = ({ name, label }) =>
  html`<svg
    class="icon icon-${name}"
    viewBox="0 0 16 16"
    width="16"
    height="16"
    role=${label === undefined ? undefined : 'img'}
    aria-label=${label}
    aria-hidden=${label === undefined ? 'true' : undefined}
  ><path d=${paths[name]} /></svg>`;

/** The mark of the gateway: an arch within an arch. `index.html` has it too, as the icon of the page. */
export const Logo = () =>
  html`<svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
    <rect width="24" height="24" rx="6" fill="var(--mark)" />
    <path d="M5.5 19.5V11a6.5 6.5 0 0 1 13 0v8.5" fill="none" stroke="var(--mark-ink)" stroke-width="2.2" />
    <path d="M9.4 19.5v-8a2.6 2.6 0 0 1 5.2 0v8Z" fill="var(--mark-ink)" />
  </svg>`;
