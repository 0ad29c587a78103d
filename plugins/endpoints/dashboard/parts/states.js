/** The states of a page that cannot show its data: loading, empty, error. */
import { html, useEffect } from './html.js';
import { Icon } from './icons.js';

/** A framed message. @param {{ title: string, children?: any, icon?: any, tone?: string }} props */
export const Notice = ({
  title,
  children,
  icon = 'alert',
  tone = 'quiet',
}) => html`<div class="notice notice-${tone}" role=${tone === 'bad' ? 'alert' : 'status'}>
  <${Icon} name=${icon} /><div><strong>${title}</strong>${children && html`<div class="notice-text">${children}</div>`}</div>
</div>`;

const words = {
  unreachable: ['The gateway does not answer', 'It may be restarting. This page tries again by itself.'],
  silent: ['The gateway has not answered yet', ''],
  invalid_value: ['This filter cannot be read', ''],
  log_unavailable: ['The log store is away', ''],
};
/** The title and the advice for a time limit: the store may be well, and have too much to read. */
const late = ['The log did not answer in time', 'Choose a shorter time range.'];

/** @param {{ code: string, message: string, status: number }} error */
function wordsOf({ code, message, status }) {
  if (code === 'log_unavailable' && message.includes(': timeout.')) return late;
  return words[/** @type {keyof typeof words} */ (code)] ?? (status === 503 ? words.log_unavailable : ['This cannot be shown', '']);
}

const againMs = 3000;

/**
 * An error of the API, with a button that tries again.
 * @param {{ error: { code: string, message: string, status: number }, retry?: () => void }} props
 */
export function Fault({ error, retry }) {
  // some pages do not repeat their requests, so this part does
  useEffect(() => {
    if (error.code !== 'unreachable' || retry === undefined) return undefined;
    const timer = setTimeout(retry, againMs);
    return () => clearTimeout(timer);
  }, [error]);
  const [title, more] = wordsOf(error);
  const message = error.message === `${title}.` ? '' : error.message;
  const again = retry && html`<button type="button" class="link" onClick=${retry}>Try again</button>`;
  return html`<${Notice} tone="bad" title=${title}>${message}${more === '' ? '' : ` ${more}`} ${again}<//>`;
}

/** The notice for a module that the gateway no longer has. @param {{ what: string }} props */
export const NotLoaded = ({ what }) =>
  html`<${Notice} tone="bad" title=${`This ${what} cannot be loaded`}>
    The gateway may have been updated. <a href=${location.pathname + location.search} target="_self">Load this page again</a>
  <//>`;

/** The notice for a page that could not be loaded because the gateway does not answer. */
export const Unreachable = () => html`<${Notice} tone="bad" title=${words.unreachable[0]}>${words.unreachable[1]}<//>`;

/** Grey rows in place of data that is loading. */
export const Skeleton = ({ rows = 6 }) =>
  html`<div class="skeleton" role="progressbar" aria-label="Loading">${Array.from(
    { length: rows },
    (_, at) => html`<div class="skeleton-row" key=${at} />`,
  )}</div>`;

/**
 * What a page shows where its data is not ready: grey rows, or the error. The error stands above data that came before it.
 * @param {{ data: any, error: any, reload: () => void, rows: number }} props
 */
export const Unready = ({ data, error, reload, rows }) =>
  error === null ? data === null && html`<${Skeleton} rows=${rows} />` : html`<${Fault} error=${error} retry=${reload} />`;
