/** The targets that rest now: which, why and until when, with a button to end a rest. */
import { html, useState } from './html.js';
import { ask, useData } from './api.js';
import { clock, count, plural } from './format.js';
import { Icon } from './icons.js';

/** Empty where no target rests or is asked last, and where the config has no route/health. */
export function RestingTargets() {
  const { data, reload } = useData('/api/targets', { everyMs: 5000 });
  const of = (wanted) => data?.data.filter(({ state }) => state === wanted) ?? [];
  const [resting, trying] = [of('resting'), of('trying')];
  const last = of('standing').filter(({ askedLastUntil }) => askedLastUntil !== undefined);
  const shown = [...resting, ...trying, ...last];
  if (shown.length === 0) return null;
  const heads = [
    resting.length > 0 && plural(resting.length, 'target rests', 'targets rest'),
    trying.length > 0 && plural(trying.length, 'target is tried again', 'targets are tried again'),
    last.length > 0 && plural(last.length, 'target is asked last', 'targets are asked last'),
  ];
  return html`<h2 class="section">${heads.filter(Boolean).join(', ')}</h2>
    <p class="soft">${whatRests} A target that other targets outran again and again (hedge_ms) is asked last.</p>
    <div class="table-scroll"><table class="table">
      <thead><tr>
        <th scope="col">Target</th><th scope="col">State</th><th scope="col">Because of</th>
        <th scope="col" class="num">Calls 30 s</th><th scope="col" class="num">Failed</th>
        <th scope="col"><span class="hidden">Wake</span></th>
      </tr></thead>
      <tbody>${shown.map((target) => html`<${Row} key=${target.target} target=${target} changed=${reload} />`)}</tbody>
    </table></div>`;
}

const whatRests = 'A target is a provider with one of its keys, and a model. While a target rests, its requests go to other targets.';

function stateOf({ state, restsUntil, askedLastUntil }) {
  if (state === 'resting') return `rests until ${clock(Date.parse(restsUntil))}`;
  if (state === 'trying') return 'its rest is over; one request at a time tries it';
  return `is asked last until ${clock(Date.parse(askedLastUntil))}`;
}

function Row({ target, changed }) {
  const { target: name, models, why, calls, failures } = target;
  const [fault, setFault] = useState(/** @type {string | null} */ (null));
  const wake = () =>
    ask(`/api/targets/wake?name=${encodeURIComponent(name)}`, { method: 'POST' }).then(changed, (error) => setFault(error.message));
  return html`<tr>
    <td title=${models.join(', ')}><span class="cell-name">${name}</span></td>
    <td><span class="mark mark-warn">
      <${Icon} name="alert" />
      ${stateOf(target)}
    </span></td>
    <td>${why ?? 'outrun'}</td><td class="num">${count(calls)}</td><td class="num">${count(failures)}</td>
    <td class="cell-tool">
      <button type="button" class="button" onClick=${wake} title="End the rest: the next request may ask this target">Wake</button>
      ${fault !== null && html`<span class="soft" role="alert">${fault}</span>`}
    </td>
  </tr>`;
}
