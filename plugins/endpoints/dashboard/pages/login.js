/** The page Sign in: sends the admin key once; the browser then has a cookie that scripts cannot read. */
import { html, useEffect, useState } from '../parts/html.js';
import { send } from '../parts/api.js';
import { Logo } from '../parts/icons.js';
import { takeKept } from '../parts/playground-kept.js';
import { write } from '../parts/storage.js';

const whereItIs =
  'It is server.admin_key of the config. Where the config has none, it is in the file admin-key of server.data_dir; ' +
  'the first start printed it.';

/** @param {{ params: URLSearchParams }} props */
export function LoginPage({ params }) {
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const next = params.get('next') ?? '';
  // safety: after a sign-out, the next user of this tab may be somebody else
  useEffect(() => void (next === '' && takeKept()), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFault('');
    try {
      await send('/api/session', { key: new FormData(event.target).get('key') });
      write('signed-in', 'yes');
      // the part after the `#`, such as a form of the playground, is kept
      // safety: the address in `next` may come from another site, so it must be a page of the dashboard
      location.assign(/^\/dashboard(?:[/?]|$)/.test(next) ? next + location.hash : '/dashboard');
    } catch (error) {
      setFault(error.message);
      setBusy(false);
    }
  };
  return html`<main class="login"><form onSubmit=${submit}>
    <h1><${Logo} /> Model Gateway</h1>
    <label for="key">Admin key</label>
    <input id="key" name="key" type="password" required autofocus autocomplete="current-password" aria-describedby="login-says" />
    <p id="login-says" class=${fault === '' ? 'soft' : 'is-bad'} role="alert">${fault === '' ? whereItIs : fault}</p>
    <button class="button button-main" disabled=${isBusy}>Sign in</button>
  </form></main>`;
}
