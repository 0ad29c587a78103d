/** The dialog that lists all keys. */
import { html } from './html.js';
import { Dialog } from './dialog.js';

const map = [
  [
    'Everywhere',
    [
      ['/', 'search'],
      ['Ctrl V', 'open the request with the id on the clipboard'],
      ['t', 'time range'],
      ['e', 'export'],
      ['v', 'saved views'],
      ['c', 'copy the link to this view'],
      ['?', 'this list'],
      ['Esc', 'close'],
    ],
  ],
  [
    'Logs',
    [
      ['j k', 'next, previous row'],
      ['Enter', 'open'],
      ['[ ]', 'previous, next request'],
      ['l', 'live tail'],
    ],
  ],
  [
    'Go to',
    [
      ['g o', 'Overview'],
      ['g l', 'Logs'],
      ['g v', 'Conversations'],
      ['g b', 'Breakdown'],
      ['g s', 'Spend'],
      ['g m', 'Models'],
      ['g p', 'Providers'],
      ['g k', 'Keys'],
      ['g y', 'Playground'],
      ['g n', 'Connect'],
      ['g c', 'Config'],
    ],
  ],
];

/** @param {{ close: () => void }} props */
export const KeyboardHelp = ({ close }) => html`<${Dialog} title="Keyboard" close=${close}>
  <div class="keyboard">${map.map(
    ([title, rows]) => html`<section key=${title}>
      <h3>${title}</h3>
      <dl>${rows.map(
        ([keys, does]) => html`<div key=${keys}><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${does}</dd></div>`,
      )}</dl>
    </section>`,
  )}</div>
<//>`;
