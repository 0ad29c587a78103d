/** The frame of every page: the list of pages, the notices about the gateway, and the choice of the theme. */
import { createContext, html, useEffect, useRef, useState } from './html.js';
import { send, useData } from './api.js';
import { ago, plural } from './format.js';
import { Icon, Logo } from './icons.js';
import { useShortcuts } from './keyboard.js';
import { Later } from './later.js';
import { hrefOf } from './location.js';
import { timeOf } from './time-of.js';
import { say } from './say.js';
import { Notice } from './states.js';
import { read, write } from './storage.js';
import { chooseTheme, chosenTheme } from './theme.js';
import { watchWide } from './wide.js';

const places = [
  ['overview', 'Overview', '/dashboard'],
  ['logs', 'Logs', '/dashboard/logs'],
  ['conversations', 'Conversations', '/dashboard/conversations'],
  ['breakdown', 'Breakdown', '/dashboard/breakdown'],
  ['spend', 'Spend', '/dashboard/spend'],
  ['models', 'Models', '/dashboard/models'],
  ['providers', 'Providers', '/dashboard/providers'],
  ['keys', 'Keys', '/dashboard/keys'],
  ['config', 'Config', '/dashboard/config'],
  ['playground', 'Playground', '/dashboard/playground'],
  ['connect', 'Connect', '/dashboard/connect'],
];

/** The first pages of a group: what happened, what is set up, what can be tried. */
const groups = new Set(['models', 'playground']);

/** The pages that have a range of time; links between them keep the range. */
const timed = new Set(['overview', 'logs', 'conversations', 'breakdown']);

const keyboardHelp = () => import('./keyboard-help.js').then((part) => part.KeyboardHelp);

/** The answer of `/api/status`, for all parts of a page; null while it is loading. */
export const Status = createContext(/** @type {any} */ (null));

/** @param {{ page: string, params: URLSearchParams, children: any }} props */
export function Shell({ page, params, children }) {
  const { isHelpOpen, openHelp, closeHelp } = useShortcuts();
  const { data: status } = useData('/api/status', { everyMs: 10_000 });
  const range = timeOf(params);
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => watchWide(/** @type {HTMLDivElement} */ (root.current)), []);
  useEffect(() => {
    const list = root.current?.querySelector('.side ul');
    const link = /** @type {HTMLElement | null | undefined} */ (list?.querySelector('[aria-current=page]'));
    // scrollIntoView is not used, because it also scrolls the page
    if (list && link) list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
  }, [page]);
  return html`<div class="shell" ref=${root}>
    <a class="skip" href="#main">Skip to the page</a>
    <nav class="side" aria-label="Pages">
      <a class="brand" href="/dashboard"><${Logo} /><span>Gateway</span></a>
      <ul>${places.map(
        ([name, label, href]) => html`<li key=${name} class=${groups.has(name) ? 'side-group' : undefined}>
          <a href=${timed.has(name) ? hrefOf(href, range) : href} aria-current=${page === name ? 'page' : undefined}>
            <${Icon} name=${name} />
            <span>${label}</span>
          </a>
        </li>`,
      )}</ul>
      <div class="side-foot">
        <${ThemeSwitch} />
        ${
          read('signed-in') !== null &&
          html`<button type="button" class="button button-plain" onClick=${signOut} aria-label="Sign out" title="Sign out">
            <${Icon} name="out" />
          </button>`
        }
        <button type="button" class="button button-plain" onClick=${openHelp} aria-label="Keyboard help" title="Keyboard (?)">
          <${Icon} name="help" />
        </button>
      </div>
    </nav>
    <main id="main" tabindex="-1">
      <${StoreBanner} status=${status?.log ?? null} />
      ${page !== 'config' && html`<${ReloadBanner} reload=${status?.config.reload ?? null} />`}
      <${Status.Provider} value=${status}>${children}<//>
    </main>
    <${Announcer} />
    ${isHelpOpen && html`<${Later} load=${keyboardHelp} close=${closeHelp} />`}
  </div>`;
}

async function signOut() {
  try {
    await send('/api/session', {}, 'DELETE');
  } catch (error) {
    // the cookie is still good, and only the gateway can end it
    say(`You are still signed in. ${/** @type {Error} */ (error).message}`);
    return;
  }
  write('signed-in', null);
  location.assign('/dashboard/login');
}

/** The notices that every page shows: the log store is away, the journal cannot be written, or records were lost. */
function StoreBanner({ status }) {
  if (status === null) return null;
  const { connected, error, waitingRecords = 0, dropped = 0, deadLettered = 0 } = status;
  const lost = dropped + deadLettered;
  const isAway = connected === false && !['journal_full', 'journal_not_written'].includes(error);
  return html`
    ${error === 'journal_full' && html`<${JournalFull} />`}
    ${error === 'journal_not_written' && html`<${JournalNotWritten} />`}
    ${isAway && html`<${StoreAway} error=${error} waiting=${waitingRecords} />`}
    ${lost > 0 && html`<${Lost} many=${lost} dropped=${dropped} refused=${deadLettered} />`}`;
}

const JournalFull = () =>
  html`<${Notice} tone="bad" title="The journal is full: records are lost">
    Requests are served as before. New records are kept again when the store has taken records out of the journal.
  <//>`;

function JournalNotWritten() {
  const toDo = 'Repair the disk of the data folder, or free space on it, before you restart the gateway.';
  return html`<${Notice} tone="bad" title="The journal cannot be written">
    Requests are served as before. Their records wait in memory, and a restart loses them. ${toDo}
  <//>`;
}

function StoreAway({ error, waiting }) {
  const why = error ? ` (${String(error).replaceAll('_', ' ')})` : '';
  const records = waiting > 0 ? `${plural(waiting, 'record')} wait` : 'Their records wait';
  return html`<${Notice} tone="bad" title=${`The log store is away${why}`}>
    Requests are served as before. ${records} in the journal and are stored when the store is back. The live tail goes on.
  <//>`;
}

function Lost({ many, dropped, refused }) {
  const full = dropped > 0 ? 'The journal was full while the store was away. ' : '';
  const dead = refused > 0 ? 'The store refused some records; they are kept in journal/dead-letter.jsonl.' : '';
  return html`<${Notice} tone="warn" title=${`${plural(many, 'record')} missing from the log since the start`}>${full}${dead}<//>`;
}

/** The notice that a change of the config is not used. Config does not show it, because Config says why. */
const ReloadBanner = ({ reload }) =>
  reload !== null &&
  !reload.isUsed &&
  html`<${Notice} tone="bad" title=${`The change of the config ${ago(reload.at)} is not used`}>
    The last good config stays in use. <a href="/dashboard/config">What is wrong with the change</a>
  <//>`;

const themes = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];
const themeIcons = { system: 'system', light: 'sun', dark: 'moon' };

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme());
  const choose = (name) => {
    chooseTheme(name);
    setTheme(name);
  };
  return html`<div class="segments" role="group" aria-label="Theme">${themes.map(
    ([name, label]) => html`<button
      type="button"
      key=${name}
      aria-pressed=${theme === name}
      aria-label=${label}
      title=${label}
      onClick=${() => choose(name)}
    ><${Icon} name=${themeIcons[name]} /></button>`,
  )}</div>`;
}

/** Shows short messages for a moment; screen readers read them aloud. */
function Announcer() {
  const [text, setText] = useState('');
  useEffect(() => {
    let timer = 0;
    const show = (event) => {
      setText(event.detail);
      clearTimeout(timer);
      timer = setTimeout(() => setText(''), 2500);
    };
    addEventListener('gateway:say', show);
    return () => removeEventListener('gateway:say', show);
  }, []);
  return html`<div class="toast ${text === '' ? 'is-empty' : ''}" role="status" aria-live="polite">${text}</div>`;
}

/** The head of a page: its title, and its tools beside it. @param {{ title: any, children?: any }} props */
export const Head = ({ title, children }) => html`<header class="head"><h1>${title}</h1><div class="head-tools">${children}</div></header>`;
