/** Shows the page that belongs to the address. A page is loaded when it is first opened. */
import { html, render, useEffect, useState } from './parts/html.js';
import { useLocation } from './parts/location.js';
import { Shell } from './parts/shell.js';
import { NotLoaded, Notice, Skeleton, Unreachable } from './parts/states.js';
import { styles } from './parts/styles.js';

/** @param {string} name @param {Promise<any>} module */
const withStyles = async (name, module) => (await Promise.all([module, styles(name)]))[0];

const pages = {
  '': ['overview', 'Overview', () => withStyles('figures', import('./pages/overview.js')).then((page) => page.OverviewPage)],
  logs: ['logs', 'Logs', () => import('./pages/logs.js').then((page) => page.LogsPage)],
  breakdown: ['breakdown', 'Breakdown', () => withStyles('figures', import('./pages/breakdown.js')).then((page) => page.BreakdownPage)],
  conversations: [
    'conversations',
    'Conversations',
    () => withStyles('request', import('./pages/conversations.js')).then((page) => page.ConversationsPage),
  ],
  spend: ['spend', 'Spend', () => withStyles('figures', import('./pages/spend.js')).then((page) => page.SpendPage)],
  models: ['models', 'Models', () => withStyles('pages', import('./pages/models.js')).then((page) => page.ModelsPage)],
  providers: ['providers', 'Providers', () => withStyles('pages', import('./pages/providers.js')).then((page) => page.ProvidersPage)],
  keys: ['keys', 'Keys', () => withStyles('figures', withStyles('pages', import('./pages/keys.js'))).then((page) => page.KeysPage)],
  playground: [
    'playground',
    'Playground',
    () =>
      withStyles('playground', withStyles('request', withStyles('pages', import('./pages/playground.js')))).then(
        (page) => page.PlaygroundPage,
      ),
  ],
  connect: [
    'connect',
    'Connect',
    () => withStyles('figures', withStyles('request', withStyles('pages', import('./pages/connect.js')))).then((page) => page.ConnectPage),
  ],
  config: [
    'config',
    'Config',
    () => withStyles('request', withStyles('pages', import('./pages/config.js'))).then((page) => page.ConfigPage),
  ],
  login: ['login', 'Sign in', () => withStyles('pages', import('./pages/login.js')).then((page) => page.LoginPage)],
  request: ['logs', 'Request', () => withStyles('request', import('./pages/request.js')).then((page) => page.RequestPage)],
};

const NoPage = () => html`<${NotLoaded} what="page" />`;

/** @param {string} path */
function pageOf(path) {
  const [, , first = '', second = ''] = path.replace(/\/$/, '').split('/');
  if (first === 'logs' && second !== '') return { page: pages.request, id: decodeURIComponent(second) };
  return {
    page: Object.hasOwn(pages, first) && second === '' && first !== 'request' ? pages[/** @type {keyof typeof pages} */ (first)] : null,
    id: '',
  };
}

const pauseMs = 2000;

/** Whether the gateway answers. A 5xx does not count, because a proxy before the gateway may have sent it. */
const answers = () =>
  fetch(location.href, { method: 'HEAD', cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  );

/**
 * Reloads the page as soon as the gateway answers again, because a browser may not repeat an import that failed.
 * @param {() => boolean} isWanted
 */
async function comeBack(isWanted) {
  do await new Promise((resolve) => setTimeout(resolve, pauseMs));
  while (isWanted() && !(await answers()));
  if (isWanted()) location.reload();
}

function App() {
  const { path, params } = useLocation();
  const { page, id } = pageOf(path);
  const [loaded, setLoaded] = useState(/** @type {{ page: any, View: any } | null} */ (null));
  useEffect(() => {
    let isWanted = true;
    document.title = `${/** @type {string} */ (page?.[1] ?? 'Not found')} · Model Gateway`;
    const failed = async () => {
      const isThere = await answers();
      if (isWanted) setLoaded({ page, View: isThere ? NoPage : Unreachable });
      if (!isThere) await comeBack(() => isWanted);
    };
    page?.[2]().then((View) => isWanted && setLoaded({ page, View }), failed);
    return () => void (isWanted = false);
  }, [page]);
  useEffect(() => {
    const signedOut = () => {
      if (location.pathname !== '/dashboard/login') {
        location.assign(`/dashboard/login?next=${encodeURIComponent(location.pathname + location.search)}${location.hash}`);
      }
    };
    addEventListener('gateway:signed-out', signedOut);
    return () => removeEventListener('gateway:signed-out', signedOut);
  }, []);
  const view =
    page === null
      ? html`<${Notice} title="There is no such page"><a href="/dashboard">Overview</a><//>`
      : loaded?.page !== page
        ? html`<${Skeleton} rows=${10} />`
        : html`<${loaded.View} key=${page[0] + id} params=${params} id=${id} />`;
  if (page?.[0] === 'login') return view;
  return html`<${Shell} page=${page?.[0] ?? ''} params=${params}>${view}<//>`;
}

render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
