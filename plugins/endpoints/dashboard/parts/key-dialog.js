/** The dialogs of the page Keys: a new key, a key that is changed, and a key that is shown once. */
import { html, useEffect, useRef, useState } from './html.js';
import { ask, send } from './api.js';
import { Copy } from './copy.js';
import { Dialog } from './dialog.js';
import { minute } from './format.js';
import { changesOf, emptyForm, formOf, isWritten, KeyFields, settingsOf } from './key-form.js';
import { whyRefused } from './key-state.js';
import { say } from './say.js';
import { Select } from './select.js';
import { Notice } from './states.js';

const overlaps = [
  ['0', 'at once'],
  ['1h', 'in an hour'],
  ['24h', 'in a day'],
  ['7d', 'in a week'],
  ['30d', 'in 30 days'],
];
const pathOf = ({ id }) => `/api/keys/${encodeURIComponent(id)}`;

/** Statuses that say nothing about the change: no answer came, or a proxy before the gateway had none. */
const unknown = [0, 502, 504];

/**
 * Runs changes of a key, and keeps what went wrong. The dialog may be closed before the answer.
 * @param {{ name: string, close: () => void, changed: () => void }} of
 */
function useWork({ name, close, changed }) {
  const [fault, setFault] = useState(/** @type {any} */ (null));
  const [isBusy, setBusy] = useState(false);
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const run = async (work) => {
    setBusy(true);
    setFault(null);
    try {
      await work();
    } catch (error) {
      if (unknown.includes(/** @type {any} */ (error).status)) changed();
      if (isOpen.current) setFault(error);
      else say(`${name}: ${/** @type {Error} */ (error).message}`);
    }
    setBusy(false);
  };
  const end = () => {
    changed();
    // another dialog may be open in its place
    if (isOpen.current) close();
  };
  return { fault, isBusy, run, end };
}

function Problem({ fault }) {
  if (fault === null) return null;
  if (unknown.includes(fault.status)) {
    return html`<${Notice} tone="bad" title="Nobody knows whether this was done">
      ${fault.message} Look at the list of the keys before you try it again.
    <//>`;
  }
  return html`<${Notice} tone="bad" title="This was not done">${fault.message}<//>`;
}

/** The key itself. It is gone when the dialog is closed, so neither Escape nor a click beside it closes it. @param {{ made: any, close: () => void }} props */
export function Shown({ made, close }) {
  const refused = whyRefused(made);
  const state = refused === null ? 'good at once' : `refused now: ${refused}`;
  return html`<${Dialog} title=${`The key of ${made.name}`} close=${close} stays=${true}><div class="dialog-body">
    <p>It is shown only now, and is ${state}. Callers send it as <code>Authorization: Bearer …</code></p>
    <div class="code"><pre class="made-key">${made.key}</pre><${Copy} text=${made.key} what="The key" /></div>
    ${
      refused === null &&
      made.keys.slice(1).map(
        (former) => html`<p class="soft" key=${former.prefix}>
          The former key <code>${former.prefix}…</code> is good until ${minute(Date.parse(former.expires), { isWhole: true })}.
        </p>`,
      )
    }
    <div class="dialog-foot"><button type="button" class="button button-main" onClick=${close}>I have it</button></div>
  </div><//>`;
}

/** @param {{ close: () => void, changed: () => void, show: (made: any) => void }} props `show` shows the key that was made */
export function NewKey({ close, changed, show }) {
  const [form, setForm] = useState(emptyForm);
  const { fault, isBusy, run, end } = useWork({ name: form.name.trim(), close, changed });
  const make = (event) => {
    event.preventDefault();
    void run(async () => {
      show(await send('/api/keys', { name: form.name.trim(), ...settingsOf(form) }));
      end();
    });
  };
  return html`<${Dialog} title="New key" close=${close} isUnsaved=${!isBusy && isWritten(form, emptyForm())}><form class="dialog-body" onSubmit=${make}>
    <${Problem} fault=${fault} />
    <${KeyFields} form=${form} set=${(changes) => setForm((before) => ({ ...before, ...changes }))} isNew=${true} />
    <div class="dialog-foot"><button class="button button-main" disabled=${isBusy}>Make the key</button></div>
  </form><//>`;
}

/** @param {{ of: any, close: () => void, changed: () => void, show: (made: any) => void }} props */
export function ChangeKey({ of, close, changed, show }) {
  const [form, setForm] = useState(() => formOf(of));
  const { fault, isBusy, run, end } = useWork({ name: of.name, close, changed });
  const endWith = (text) => {
    say(text);
    end();
  };
  const save = (event) => {
    event.preventDefault();
    void run(async () => {
      const changes = changesOf(form, of);
      if (Object.keys(changes).length > 0) await send(pathOf(of), changes, 'PATCH');
      endWith(`${of.name} is changed`);
    });
  };
  const rotate = (overlap) =>
    run(async () => {
      show(await send(`${pathOf(of)}/rotate`, { overlap }));
      end();
    });
  const turn = () =>
    run(async () => {
      const refused = whyRefused(await send(pathOf(of), { disabled: !of.disabled }, 'PATCH'));
      const enabled = refused === null ? 'good again' : `not disabled. It is refused now: ${refused}`;
      endWith(`${of.name} is ${of.disabled ? enabled : 'refused from now on'}`);
    });
  const remove = () =>
    run(async () => {
      await ask(pathOf(of), { method: 'DELETE' });
      endWith(`${of.name} is deleted`);
    });
  const isUnsaved = isWritten(form, formOf(of));
  return html`<${Dialog} title=${of.name} close=${close} isUnsaved=${!isBusy && isUnsaved}><form class="dialog-body" onSubmit=${save}>
    <${Problem} fault=${fault} />
    <${KeyFields} form=${form} set=${(changes) => setForm((before) => ({ ...before, ...changes }))} isNew=${false} />
    <div class="dialog-foot"><button class="button button-main" disabled=${isBusy}>Save</button></div>
    <${Ends} of=${of} isBusy=${isBusy} isUnsaved=${isUnsaved} rotate=${rotate} turn=${turn} remove=${remove} />
  </form><//>`;
}

/** What takes effect at once, without Save, and closes the dialog: it would lose what is written there. */
function Ends({ of, isBusy, isUnsaved, rotate, turn, remove }) {
  const isOff = isBusy || isUnsaved;
  const [overlap, setOverlap] = useState('24h');
  const [isSure, setSure] = useState(false);
  const choose = (event) => setOverlap(event.target.value);
  return html`<div class="key-ends">
    ${isUnsaved && html`<p class="soft">Save what you wrote first, or close this without saving.</p>`}
    <div>
      <button type="button" class="button" disabled=${isOff} onClick=${() => rotate(overlap)}>Rotate</button>
      <label class="soft">
        a new key; the present one ends <${Select}
          aria-label="The present key ends"
          value=${overlap}
          options=${overlaps}
          onChange=${choose}
        />
      </label>
    </div>
    <div>
      <button type="button" class="button" disabled=${isOff} onClick=${turn}>${of.disabled ? 'Enable' : 'Disable'}</button>
      <span class="soft">${of.disabled ? 'it is refused now' : 'refused until it is enabled; running requests are completed'}</span>
    </div>
    <div>
      <button type="button" class="button" disabled=${isOff} onClick=${isSure ? remove : () => setSure(true)}>
        ${isSure ? 'Delete for good' : 'Delete'}
      </button>
      <span class="soft">its requests stay in the log</span>
    </div>
  </div>`;
}
