/** The notice that no request can be answered, because every provider is off. */
import { html } from './html.js';
import { Notice } from './states.js';

/** Whether there are models, and the providers of all of them are off. @param {any} models the answer of `/api/models`, null while it is loading */
export const isNoneOn = (models) => models !== null && models.data.length > 0 && !models.data.some(({ isOn }) => isOn);

/** @param {{ models: any }} props as of `isNoneOn` */
export const NoneOn = ({ models }) =>
  isNoneOn(models) &&
  html`<${Notice} tone="warn" title="No provider is on">
    No model can answer a request. <a href="/dashboard/providers">What each provider needs</a>
  <//>`;
