/** The settings of a key of the store as a form, and the form as settings. */
import { html } from './html.js';
import { Select } from './select.js';

const periods = ['day', 'week', 'month', 'total'];

/**
 * @typedef {{ name: string, models: string, metadata: string, requests: string, tokens: string, concurrent: string, dollars: string,
 *   per: string, expires: string, logBodies: boolean, cache: boolean }} Form
 */

/** @returns {Form} */
export const emptyForm = () => ({
  name: '',
  models: '',
  metadata: '',
  requests: '',
  tokens: '',
  concurrent: '',
  dollars: '',
  per: 'month',
  expires: '',
  logBodies: true,
  cache: false,
});

const written = (value) => (value === undefined || value === null ? '' : String(value));

/** @param {any} key as `/api/keys` has it @returns {Form} */
export const formOf = ({ name, models, metadata, limits, expires, log_bodies: logBodies, cache }) => ({
  name,
  models: (models ?? []).join(', '),
  metadata: Object.entries(metadata)
    .map(([label, value]) => `${label}=${value}`)
    .join('\n'),
  requests: written(limits?.requests_per_minute),
  tokens: written(limits?.tokens_per_minute),
  concurrent: written(limits?.concurrent),
  dollars: written(limits?.budget?.dollars),
  per: limits?.budget?.per ?? 'month',
  expires: written(expires),
  logBodies,
  cache,
});

const listOf = (text, between = ',') =>
  text
    .split(between)
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** @param {string} text such as `team=search`, one on each line, because a value may hold a comma @returns {Record<string, string>} */
const metadataOf = (text) => Object.fromEntries(listOf(text, '\n').map(pairOf));

function pairOf(pair) {
  const at = pair.indexOf('=');
  if (at < 1) throw new Error(`Write metadata as NAME=VALUE, one on each line, and not as "${pair}".`);
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

/**
 * The settings as the API takes them. Throws an error that names the line of the metadata that is not `NAME=VALUE`.
 * @param {Form} form @param {any} [before] the key, for what the form does not show
 */
export function settingsOf(form, before) {
  const models = listOf(form.models);
  // a value may hold a line break, or blanks at its ends, which the form cannot show: unchanged metadata is sent as it was
  const isSame = before !== undefined && form.metadata === formOf(before).metadata;
  const amounts = [
    ['requests_per_minute', form.requests],
    ['tokens_per_minute', form.tokens],
    ['concurrent', form.concurrent],
  ].flatMap(([name, value]) => (value === '' ? [] : [[name, Number(value)]]));
  const budget =
    form.dollars === ''
      ? []
      : [
          [
            'budget',
            { ...(before?.limits?.budget?.unknown && { unknown: before.limits.budget.unknown }), dollars: form.dollars, per: form.per },
          ],
        ];
  const limits = [...amounts, ...budget];
  return {
    models: models.length === 0 ? null : models,
    metadata: isSame ? before.metadata : metadataOf(form.metadata),
    limits: limits.length === 0 ? null : Object.fromEntries(limits),
    expires: form.expires === '' ? null : form.expires,
    log_bodies: form.logBodies,
    cache: form.cache,
  };
}

/**
 * The settings that were changed in the form: somebody else may have changed the others since it was opened.
 * @param {Form} form @param {any} before the key as the form was opened with it
 */
export function changesOf(form, before) {
  const former = settingsOf(formOf(before), before);
  return Object.fromEntries(
    Object.entries(settingsOf(form, before)).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(former[/** @type {keyof typeof former} */ (name)]),
    ),
  );
}

/** Whether somebody has written into the form since it was `before`. @param {Form} form @param {Form} before */
export const isWritten = (form, before) => JSON.stringify(form) !== JSON.stringify(before);

/** @param {{ form: Form, set: (changes: Partial<Form>) => void, isNew: boolean }} props */
export function KeyFields({ form, set, isNew }) {
  const text = (name) => ({ value: form[name], onInput: (event) => set({ [name]: event.target.value }) });
  const choice = (name) => ({ value: form[name], onChange: (event) => set({ [name]: event.target.value }) });
  const box = (name) => ({ checked: form[name], onChange: (event) => set({ [name]: event.target.checked }) });
  return html`
    ${
      isNew &&
      html`<label class="area">
        Name <input required maxlength="100" autocomplete="off" placeholder="search-team" ...${text('name')} />
      </label>`
    }
    <label class="area">
      Models <span class="soft">separated by commas; * matches any text; empty: all models</span>
      <input autocomplete="off" placeholder="gpt-5*, auto" ...${text('models')} />
    </label>
    <label class="area">
      Metadata <span class="soft">one on each line</span>
      <textarea rows="2" autocomplete="off" placeholder="team=search" ...${text('metadata')} />
    </label>
    <div class="fields">
      <label>Requests a minute <input type="number" min="1" placeholder="no limit" ...${text('requests')} /></label>
      <label>Tokens a minute <input type="number" min="1" placeholder="no limit" ...${text('tokens')} /></label>
      <label>Requests at one time <input type="number" min="1" placeholder="no limit" ...${text('concurrent')} /></label>
      <label>
        Budget in dollars <input inputmode="decimal" pattern="[0-9]+(\\.[0-9]+)?" size="8" placeholder="none" ...${text('dollars')} />
      </label>
      <label>per <${Select} options=${periods} disabled=${form.dollars === ''} ...${choice('per')} /></label>
      <label>Expires <input type=${form.expires.includes('T') ? 'text' : 'date'} ...${text('expires')} /></label>
      <label class="check"><input type="checkbox" ...${box('logBodies')} /> Prompts and answers are logged</label>
      <label class="check"><input type="checkbox" ...${box('cache')} /> Answers are cached</label>
    </div>`;
}
