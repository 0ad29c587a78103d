/** The form of the playground. */
import { html } from './html.js';
import { choices } from './callable.js';
import { Icon } from './icons.js';

/** The values of the form before somebody changes them. */
export const emptyForm = { model: '', system: '', user: 'Hello! Explain in two sentences what you are.', earlier: /** @type {any[]} */ ([]), effort: '', budget: '', maxTokens: '', temperature: '', stream: true, tools: '', metadata: [['', '']], key: '' };

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const exampleTool = '[{ "type": "function", "function": { "name": "get_weather", "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }]';

/** The request that the form describes; `problem` says why it cannot be sent. @param {typeof emptyForm} form @returns {{ body: any, metadata: Record<string, string>, problem: string | null }} */
export function bodyOf({ model, system, user, earlier, effort, budget, maxTokens, temperature, stream, tools, metadata }) {
  let parsed;
  let problem = user.trim() === '' && earlier.length === 0 ? 'Write something to ask.' : null;
  if (tools.trim() !== '') {
    try {
      parsed = JSON.parse(tools);
      if (!Array.isArray(parsed)) problem = 'The tools must be a JSON list.';
    } catch (error) {
      problem = `The tools are not valid JSON: ${/** @type {Error} */ (error).message}`;
    }
  }
  const named = metadata.filter(([name]) => name.trim() !== '').map(([name, value]) => [name.trim(), value]);
  const odd = named.find(([name]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name));
  if (odd !== undefined) problem = `"${odd[0]}" is not a valid header name: use letters, digits and hyphens.`;
  const messages = [...(system.trim() === '' ? [] : [{ role: 'system', content: system }]), ...earlier, ...(user.trim() === '' ? [] : [{ role: 'user', content: user }])];
  const body = {
    model,
    messages,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...(budget !== '' ? { reasoning: { max_tokens: Number(budget) } } : effort !== '' && { reasoning_effort: effort }),
    ...(maxTokens !== '' && { max_completion_tokens: Number(maxTokens) }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(parsed !== undefined && { tools: parsed }),
  };
  return { body, metadata: Object.fromEntries(named), problem };
}

/** The form for sending a request of the log again. Parameters without a field in the form are left out. @param {any} request @param {Record<string, string>} metadata */
export function formOf({ model, messages = [], reasoning_effort: effort, reasoning, max_completion_tokens: maxTokens, temperature, stream, tools }, metadata) {
  const [first, ...others] = messages;
  const hasSystem = first?.role === 'system' && typeof first.content === 'string';
  const rest = hasSystem ? others : messages;
  const last = rest.at(-1);
  const isText = last?.role === 'user' && typeof last.content === 'string';
  return {
    ...emptyForm,
    model,
    system: hasSystem ? first.content : '',
    user: isText ? last.content : '',
    earlier: isText ? rest.slice(0, -1) : rest,
    effort: effort ?? reasoning?.effort ?? '',
    budget: String(reasoning?.max_tokens ?? ''),
    maxTokens: String(maxTokens ?? ''),
    temperature: String(temperature ?? ''),
    stream: stream === true,
    tools: tools ? JSON.stringify(tools, null, 2) : '',
    metadata: [...Object.entries(metadata ?? {}), ['', '']],
  };
}

/** @param {{ form: typeof emptyForm, set: (changes: Partial<typeof emptyForm>) => void, models: any }} props */
export function PlaygroundForm({ form, set, models }) {
  const text = (name) => ({ value: form[name], onInput: (event) => set({ [name]: event.target.value }) });
  return html`
    <div class="fields"><label>Model <select value=${form.model} onChange=${(event) => set({ model: event.target.value })}>${choices(models, form.model).map((name) => html`<option key=${name}>${name}</option>`)}</select></label>
      <label>Effort <select value=${form.effort} disabled=${form.budget !== ''} onChange=${(event) => set({ effort: event.target.value })}><option value="">not set</option>${efforts.map((effort) => html`<option key=${effort}>${effort}</option>`)}</select></label>
      <label>Budget <input type="number" min="1" placeholder="tokens" ...${text('budget')} /></label>
      <label>At most <input type="number" min="1" placeholder="tokens" ...${text('maxTokens')} /></label>
      <label>Temperature <input type="number" min="0" max="2" step="0.1" ...${text('temperature')} /></label>
      <label class="check"><input type="checkbox" checked=${form.stream} onChange=${(event) => set({ stream: event.target.checked })} /> Stream</label></div>
    <label class="area">System <textarea rows="2" ...${text('system')} /></label>
    ${form.earlier.length > 0 && html`<p class="soft">${form.earlier.length} earlier messages go along as they were. <button type="button" class="link" onClick=${() => set({ earlier: [] })}>Leave them out</button></p>`}
    <label class="area">User <textarea rows="6" ...${text('user')} /></label>
    <${Metadata} rows=${form.metadata} set=${(metadata) => set({ metadata })} />
    <details class="fold-more" open=${form.tools !== ''}><summary>Tools</summary><textarea rows="6" class="mono" aria-label="Tools as JSON" spellcheck="false" placeholder=${exampleTool} ...${text('tools')} /></details>
    <details class="fold-more"><summary>Key of the gateway</summary><input type="password" autocomplete="off" aria-label="Key" placeholder="where the config lists keys" ...${text('key')} /></details>`;
}

function Metadata({ rows, set }) {
  const change = (at, column, value) => {
    const next = rows.map((row, index) => (index === at ? (column === 0 ? [value, row[1]] : [row[0], value]) : row));
    set(next.at(-1)[0] === '' && next.at(-1)[1] === '' ? next : [...next, ['', '']]);
  };
  return html`<fieldset class="metadata"><legend>Metadata <span class="soft">sent as X-Gateway-… headers</span></legend>
    ${rows.map(([name, value], at) => html`<div key=${at}><input aria-label="Name" placeholder="team" value=${name} onInput=${(event) => change(at, 0, event.target.value.toLowerCase())} /><input aria-label="Value" placeholder="search" value=${value} onInput=${(event) => change(at, 1, event.target.value)} />
      ${at < rows.length - 1 && html`<button type="button" class="button button-plain" aria-label="Remove" onClick=${() => set(rows.filter((_, index) => index !== at))}><${Icon} name="close" /></button>`}</div>`)}
  </fieldset>`;
}
