/** The texts of a chart: the tooltip at the pointer, the table with all values, and the legend. */
import { html, useState } from './html.js';
import { aboutPart } from './estimate.js';
import { exact } from './format.js';
import { cut } from './value-name.js';

/** A day of UTC. @param {number} at */
const dayInUtc = (at) => new Date(at).toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/**
 * The values at one time, in the order in which the chart shows them.
 * @param {{ at: number, index: number, left: number, width: number, kind: 'bars' | 'lines', lines: import('./time-chart.js').Line[],
 *   format: (value: number) => string, isByDay: boolean }} props
 */
export function Tooltip({ at, index, left, width, kind, lines, format, isByDay }) {
  const side = left > width / 2 ? `right:${width - left + 12}px` : `left:${left + 12}px`;
  // a bar of height 0 cannot be seen, but a line at 0 can
  const some = lines.filter(({ values }) => values[index] !== null && (kind === 'lines' || values[index] !== 0));
  const rows = some.length === 0 ? lines.slice(0, 1) : kind === 'bars' ? some.toReversed() : some;
  return html`<div class="tooltip" style=${side} aria-hidden="true">
    <div class="tooltip-time">${isByDay ? dayInUtc(at) : exact(at).replace(/(?::00)?\.\d+Z?$/, '')}</div>
    ${rows.map(
      (line) => html`<div class="tooltip-row" key=${line.label}>
        <${Swatch} colour=${line.colour} />
        <span class="series">${cut(line.label)}</span>
        <b>${aboutPart(format(line.values[index] ?? null), line.estimated?.[index])}</b>
      </div>`,
    )}
  </div>`;
}

/**
 * All values as a table, for people who cannot see the drawing.
 * @param {{ title: string, times: number[], lines: import('./time-chart.js').Line[], format: (value: number) => string,
 *   isByDay: boolean }} props
 */
export function ChartTable({ title, times, lines, format, isByDay }) {
  const [isOpen, setOpen] = useState(false);
  const textOf = ({ values, estimated }, index) => (values[index] === null ? '–' : aboutPart(format(values[index]), estimated?.[index]));
  return html`<details class="chart-table" onToggle=${(event) => setOpen(event.target.open)}>
    <summary>View as table<span class="hidden">: ${title}</span></summary>
    ${
      isOpen &&
      html`<div class="table-scroll" tabindex="0" role="region" aria-label=${title}><table class="table">
        <thead><tr><th scope="col">Time</th>${lines.map(({ label }) => html`<th scope="col" class="num">${label}</th>`)}</tr></thead>
        <tbody>${times.map(
          (at, index) => html`<tr key=${at}>
            <td>${isByDay ? dayInUtc(at) : exact(at).replace(/\.\d+Z?$/, '')}</td>
            ${lines.map((line) => html`<td class="num" key=${line.label}>${textOf(line, index)}</td>`)}
          </tr>`,
        )}</tbody>
      </table></div>`
    }
  </details>`;
}

/** The colours and their labels. @param {{ lines: import('./time-chart.js').Line[] }} props */
export const Legend = ({ lines }) =>
  html`<ul class="legend">${lines.map(
    ({ label, colour }) =>
      html`<li key=${label}><${Swatch} colour=${colour} /><span class="series" title=${label}>${cut(label)}</span></li>`,
  )}</ul>`;

const Swatch = ({ colour }) => html`<span class="swatch" style=${`background:var(${colour})`} />`;
