/** A list of which one entry is chosen. */
import { html } from './html.js';

/**
 * @param {{ options: (string | [value: string, label: string])[], [attribute: string]: unknown }} props
 *   an option without a label is shown as its value is; all other props are attributes of the element
 */
export const Select = ({ options, ...attributes }) => html`<select ...${attributes}>${options.map(optionOf)}</select>`;

const optionOf = (option) => {
  const [value, label] = Array.isArray(option) ? option : [option, option];
  return html`<option key=${value} value=${value}>${label}</option>`;
};
