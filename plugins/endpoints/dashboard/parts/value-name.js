/** The name of a value in lists, tables and charts. */
import { html } from './html.js';

/**
 * An empty text is shown as a word, and has no link: in a filter an empty text means that there is no value.
 * @param {string | null} value @param {string} [none] the word for no value
 */
export const nameOf = (value, none = '(none)') => (value === '' ? '(empty)' : (value ?? none));

/** A name that is cut before its last 8 characters in a narrow place: long names of models often differ only there. @param {string} name */
export function cut(name) {
  const [, begin, end] = /^(.{12,})(.{8})$/su.exec(name) ?? [];
  return end === undefined ? name : html`<span class="cut" dir="auto"><span>${begin}</span><span>${end}</span></span>`;
}
