/** Which columns the log shows. */
import { html } from './html.js';
import { columnOf, columns, defaultColumns } from './log-columns.js';
import { go, notify, withParams } from './location.js';
import { Menu } from './menu.js';
import { write } from './storage.js';

/** @param {{ names: string[], keyed: readonly string[], params: URLSearchParams }} props */
export function ColumnMenu({ names, keyed, params }) {
  const all = [...Object.keys(columns), ...keyed];
  const choose = (name, isOn) => {
    const kept = isOn ? [...names, name] : names.filter((other) => other !== name);
    const next = kept.length === 0 ? defaultColumns : kept;
    write('columns', next.join());
    go(withParams({ cols: next.join() }, params), { replace: true });
  };
  const reset = () => {
    write('columns', null);
    go(withParams({ cols: null }, params), { replace: true });
    // the address may have had no columns, and then it has not changed
    notify();
  };
  return html`<${Menu} name="columns" icon="columns" label="Columns">${() => html`<div class="menu-checks">
      ${all.map(
        (name) => html`<label class="menu-check" key=${name} title=${columnOf(name)?.label}>
          <input
            type="checkbox"
            checked=${names.includes(name)}
            onChange=${(event) => choose(name, event.target.checked)}
          /> <span>${columnOf(name)?.label}</span>
        </label>`,
      )}
    </div>
    <button type="button" class="link" onClick=${reset}>Show the usual columns</button>`}<//>`;
}
