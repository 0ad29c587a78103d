/** The audit list of the keys of the store: each change, its time, its means and its address. */
import { html, useState } from './html.js';
import { ask, useData } from './api.js';
import { exact, minute } from './format.js';
import { say } from './say.js';

const words = { create: 'made', change: 'changed', rotate: 'rotated', disable: 'disabled', enable: 'enabled', delete: 'deleted' };
const means = { dashboard: 'this page', cli: 'the command line', api: 'the API' };

/** Empty where no key was ever changed. */
export function KeyAudit() {
  const { data } = useData('/api/keys/audit?limit=20', { everyMs: 30_000 });
  const [older, setOlder] = useState(/** @type {any} */ (null));
  if (data === null || data.data.length === 0) return null;
  const isNewest = ({ id }) => data.data.some((one) => one.id === id);
  // after many changes elsewhere there is a gap between the newest lines and the older ones, which are then asked for again
  const joined = older !== null && isNewest(older.data[0]) ? older : { data: [], next: data.next };
  const lines = [...data.data, ...joined.data.filter((line) => !isNewest(line))];
  const { next } = joined;
  const more = async () => {
    try {
      const page = await ask(`/api/keys/audit?limit=100&before=${next}`);
      setOlder({ data: [...lines, ...page.data], next: page.next });
    } catch (error) {
      say(/** @type {Error} */ (error).message);
    }
  };
  return html`<h2 class="section">Changes</h2>
    <div class="table-scroll"><table class="table keys">
      <thead><tr>
        <th scope="col">Key</th><th scope="col">What</th><th scope="col">When</th><th scope="col">By</th>
        <th scope="col">From</th><th scope="col">Details</th>
      </tr></thead>
      <tbody>${lines.map(
        ({ id, name, action, at, by, address, details }) => html`<tr key=${id}>
          <td class="cell-name" title=${name}>${name}</td><td>${words[action] ?? action}</td>
          <td><time datetime=${at} title=${exact(at)}>${minute(Date.parse(at))}</time></td><td>${means[by] ?? by}</td>
          <td>${address ?? 'the gateway’s machine'}</td><td class="wrap">${detailsOf(details)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${next !== null && html`<button type="button" class="link" onClick=${more}>Older changes</button>`}`;
}

const detailsOf = (details) =>
  Object.entries(details).map(
    ([name, value]) => html`<span class="pill" key=${name}>${name} ${typeof value === 'string' ? value : JSON.stringify(value)}</span> `,
  );
