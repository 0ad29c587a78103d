/** The form of the playground. */
import { html, useState } from './html.js';
import { choices } from './callable.js';
import { Address } from './conversation.js';
import { Icon } from './icons.js';
import { Select } from './select.js';

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const exampleParameters = '{ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }';
const exampleTool = `[{ "type": "function", "function": { "name": "get_weather", "parameters": ${exampleParameters} } }]`;
const exampleSchema =
  '{ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false }';
const modelLabels = ['Model', 'Second model', 'Third model'];

/** @typedef {import('./playground-request.js').Form} Form */

/**
 * @param {{ form: Form, set: (changes: Partial<Form> | ((before: Form) => Partial<Form>)) => void, models: any, isLoading: boolean,
 *   leaveOut: ((at: number) => void) | null, gatewayKey: string, setKey: (key: string) => void, hasTurns: boolean }} props
 *   `leaveOut` takes a model away; null while a model answers. `isLoading`: the list of models is not there yet
 */
export function PlaygroundForm({ form, set, leaveOut, models, isLoading, gatewayKey, setKey, hasTurns }) {
  const text = (name) => ({ value: form[name], onInput: (event) => set({ [name]: event.target.value }) });
  return html`<${Models} form=${form} set=${set} leaveOut=${leaveOut} models=${models} isLoading=${isLoading} />
    <div class="fields">
      <label>Effort <${Select} options=${effortsOf(form)} disabled=${form.budget !== ''} ...${text('effort')} /></label>
      <label>Budget <input type="number" min="1" placeholder="tokens" ...${text('budget')} /></label>
      <label>Max tokens <input type="number" min="1" placeholder="tokens" ...${text('maxTokens')} /></label>
      <label>Temperature <input type="number" min="0" max="2" step="0.1" ...${text('temperature')} /></label>
      <label class="check">
        <input type="checkbox" checked=${form.stream} onChange=${(event) => set({ stream: event.target.checked })} /> Stream
      </label>
    </div>
    <label class="area">System <textarea rows="2" ...${text('system')} /></label>
    ${form.earlier.length > 0 && html`<${Earlier} many=${form.earlier.length} leaveOut=${() => set({ earlier: [] })} />`}
    <${Ask} form=${form} set=${set} hasTurns=${hasTurns} />
    <${Metadata} rows=${form.metadata} set=${(metadata) => set({ metadata })} />
    <${Fold} name="Tools" label="Tools as JSON" example=${exampleTool} field=${text('tools')} />
    <${Fold} name="JSON schema" label="JSON schema of the answer" example=${exampleSchema} field=${text('schema')} />
    <${Fold} name="More" label="More fields of the request, as JSON" example=${'{ "seed": 1, "top_p": 0.9 }'} field=${text('more')} />
    <details class="fold-more">
      <summary>Key of the gateway</summary>
      <input
        type="password"
        autocomplete="off"
        aria-label="Key"
        placeholder="where callers need a key"
        value=${gatewayKey}
        onInput=${(event) => setKey(event.target.value)}
      />
    </details>`;
}

/** The usual efforts, and the one of the form, which may be of a logged request. */
const effortsOf = ({ effort }) => [['', 'not set'], ...[...new Set([...efforts, effort])].filter((one) => one !== '')];

function Earlier({ many, leaveOut }) {
  const words = many === 1 ? '1 earlier message is sent unchanged.' : `${many} earlier messages are sent unchanged.`;
  return html`<p class="soft">${words} <button type="button" class="link" onClick=${leaveOut}>Leave them out</button></p>`;
}

const Fold = ({ name, label, example, field }) =>
  html`<details class="fold-more" open=${field.value !== ''}>
    <summary>${name}</summary>
    <textarea rows="6" class="mono" aria-label=${label} spellcheck="false" placeholder=${example} ...${field} />
  </details>`;

function Models({ form, set, leaveOut, models, isLoading }) {
  const { models: chosen } = form;
  const change = (at, name) => set({ models: chosen.map((one, index) => (index === at ? name : one)) });
  const others = choices(models, chosen[0]).filter((name) => !chosen.includes(name));
  return html`<div class="fields compared">
    ${chosen.map(
      (model, at) => html`<div key=${at}>
        <label>
          ${modelLabels[at]} <${Select}
            value=${model}
            options=${choices(models, model)}
            onChange=${(event) => change(at, event.target.value)}
          />
        </label>
        ${
          chosen.length > 1 &&
          html`<button
            type="button"
            class="button button-plain"
            aria-label=${`Remove the ${modelLabels[at]?.toLowerCase()}`}
            disabled=${leaveOut === null}
            onClick=${() => leaveOut(at)}
          ><${Icon} name="close" /></button>`
        }
      </div>`,
    )}
    ${
      chosen.length < modelLabels.length &&
      html`<button type="button" class="link" disabled=${isLoading} onClick=${() => set({ models: [...chosen, others[0] ?? chosen[0]] })}>
        Compare with another model
      </button>`
    }
  </div>`;
}

/** @param {Blob} file @returns {Promise<string>} */
const addressOf = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(/** @type {string} */ (reader.result)));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(file);
  });

/** An image of the form. safety: one of another site is named and not loaded, because that site would see who reads this page, and when. */
const Image = ({ url, at }) =>
  url.startsWith('data:') ? html`<img class="thumbnail" src=${url} alt=${`Image ${at + 1}`} />` : html`<${Address} url=${url} />`;

/** The text to ask with, and images: dropped, pasted, or chosen. */
function Ask({ form, set, hasTurns }) {
  const [isOver, setOver] = useState(false);
  const add = async (from) => {
    const files = [...(from.files ?? [])].filter(({ type }) => type.startsWith('image/'));
    if (files.length === 0) return;
    const added = (await Promise.all(files.map(addressOf))).map((url) => ({ url }));
    // the form may have changed while the files were read
    set(({ images }) => ({ images: [...images, ...added] }));
  };
  const onDrop = (event) => {
    setOver(false);
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void add(event.dataTransfer);
  };
  const onDragOver = (event) => {
    event.preventDefault();
    setOver(true);
  };
  const write = (event) => set({ user: event.target.value });
  const paste = (event) => void add(event.clipboardData);
  // the field forgets the file, so that the same one can be chosen again
  const choose = (event) => void add(event.target).then(() => (event.target.value = ''));
  return html`<div class="ask ${isOver ? 'is-over' : ''}" onDragOver=${onDragOver} onDragLeave=${() => setOver(false)} onDrop=${onDrop}>
    <label class="area">
      User <textarea rows="6" placeholder=${hasTurns ? 'The next turn' : ''} value=${form.user} onInput=${write} onPaste=${paste} />
    </label>
    <div class="ask-images">
      ${form.images.map(
        ({ url }, at) => html`<span key=${at}>
          <${Image} url=${url} at=${at} />
          <button
            type="button"
            class="button button-plain"
            aria-label=${`Remove image ${at + 1}`}
            onClick=${() => set({ images: form.images.filter((_, index) => index !== at) })}
          ><${Icon} name="close" /></button>
        </span>`,
      )}
      <label class="link">
        Add an image<input class="hidden" type="file" accept="image/*" multiple onChange=${choose} />
      </label> <span class="soft">or drop it here</span>
    </div>
  </div>`;
}

function Metadata({ rows, set }) {
  const change = (at, column, value) => {
    const next = rows.map((row, index) => (index === at ? (column === 0 ? [value, row[1]] : [row[0], value]) : row));
    set(next.at(-1)[0] === '' && next.at(-1)[1] === '' ? next : [...next, ['', '']]);
  };
  return html`<fieldset class="metadata">
    <legend>Metadata <span class="soft">sent as X-Gateway-… headers</span></legend>
    ${rows.map(
      ([name, value], at) => html`<div key=${at}>
        <input aria-label="Name" placeholder="team" value=${name} onInput=${(event) => change(at, 0, event.target.value.toLowerCase())} />
        <input aria-label="Value" placeholder="search" value=${value} onInput=${(event) => change(at, 1, event.target.value)} />
        ${
          at < rows.length - 1 &&
          html`<button
            type="button"
            class="button button-plain"
            aria-label="Remove"
            onClick=${() => set(rows.filter((_, index) => index !== at))}
          ><${Icon} name="close" /></button>`
        }
      </div>`,
    )}
  </fieldset>`;
}
