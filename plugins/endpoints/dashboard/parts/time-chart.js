/** Values over time: stacked columns or lines. Dragging zooms, a tooltip tells, a table says the same in words. */
import { html, useEffect, useRef, useState } from './html.js';
import uPlot from 'uplot';
import { exact, isUtc } from './format.js';
import { colour, useThemeChanges } from './theme.js';

/** @typedef {{ label: string, colour: string, values: (number | null)[] }} Line */

/** Each on the shoulders of those before it. @param {Line[]} lines */
function stacked(lines) {
  const sums = lines[0]?.values.map(() => 0) ?? [];
  return lines.map(({ values }) => values.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))));
}

/** @param {{ kind: 'bars' | 'lines', lines: Line[], format: (value: number) => string, bucketMs: number, isBare?: boolean }} chart */
function seriesOf({ kind, lines, bucketMs }) {
  const step = bucketMs / 1000;
  const drawn = lines.map(({ label, colour: name }) => ({
    label,
    stroke: colour(name),
    ...(kind === 'bars' ? { fill: colour(name), width: 0, paths: uPlot.paths.bars({ size: [0.78, 48], align: 1, gap: 0 }) } : { width: 1.75, paths: uPlot.paths.linear(), spanGaps: true }),
    points: { show: kind === 'lines' && (lines[0]?.values.filter((value) => value !== null).length ?? 0) * step < step * 3, size: 5, fill: colour(name) },
  }));
  // the tallest first, so that the shorter ones stand before it
  return kind === 'bars' ? drawn.toReversed() : drawn;
}

function axesOf({ format, isBare }) {
  const font = '11px system-ui, sans-serif';
  const faint = colour('--faint');
  const grid = { stroke: colour('--line'), width: 1 };
  const x = { stroke: faint, font, grid: { show: false }, ticks: { show: false }, size: 22, gap: 5, space: 72, values: (_, splits) => splits.map(tick) };
  if (isBare) return [x, { show: false }];
  return [x, { stroke: faint, font, grid, ticks: { show: false }, size: 52, gap: 6, space: 32, values: (_, values) => values.map((value) => (value === null ? '' : format(value))) }];
}

/** The hour, or the day where one begins. @param {number} at seconds */
function tick(at) {
  const zone = isUtc() ? { timeZone: 'UTC' } : {};
  const time = new Date(at * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...(at % 60 !== 0 && { second: '2-digit' }), ...zone });
  return time === '00:00' ? new Date(at * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...zone }) : time;
}

const tzDate = (at) => (isUtc() ? uPlot.tzDate(new Date(at * 1000), 'UTC') : new Date(at * 1000));

/** @param {HTMLElement} box @param {any} chart */
function draw(box, { kind, times, lines, height, format, range, bucketMs, onZoom, onHover, isBare }) {
  const values = kind === 'bars' ? stacked(lines).toReversed() : lines.map((line) => line.values);
  const top = Math.max(0, ...values.flat().filter((value) => value !== null));
  const options = {
    width: Math.max(120, box.clientWidth),
    height,
    padding: [6, 2, 0, 2],
    tzDate,
    series: [{}, ...seriesOf({ kind, lines, bucketMs, format })],
    scales: { x: { time: true, range: () => [range.from / 1000, range.to / 1000] }, y: { range: () => [0, top === 0 ? 1 : top * 1.06] } },
    axes: axesOf({ format, isBare }),
    legend: { show: false },
    cursor: { y: false, points: { show: kind === 'lines', size: 7 }, drag: { x: onZoom !== undefined, y: false, setScale: false } },
    hooks: {
      setCursor: [({ cursor: { idx, left } }) => onHover(idx === null || idx === undefined || left < 0 ? null : { at: kind === 'bars' ? bucketAt(times, plot.posToVal(left, 'x') * 1000, bucketMs) : idx, left })],
      setSelect: [({ select }) => {
        if (select.width < 4 || onZoom === undefined) return;
        const at = (left) => Math.floor((plot.posToVal(left, 'x') * 1000) / bucketMs) * bucketMs;
        onZoom(at(select.left), at(select.left + select.width) + bucketMs);
      }],
    },
  };
  const plot = new uPlot(options, [times.map((at) => at / 1000), ...values], box);
  return plot;
}

const bucketAt = (times, at, bucketMs) => {
  const found = times.findLastIndex((time) => time <= at);
  return found < 0 || at - times[found] > bucketMs ? null : found;
};

/**
 * @param {{ title: string, kind?: 'bars' | 'lines', times: number[], lines: Line[], range: { from: number, to: number }, bucketMs: number,
 *   format: (value: number) => string, height?: number, onZoom?: (from: number, to: number) => void, isBare?: boolean, summary?: string }} props
 */
export function TimeChart({ title, kind = 'bars', times, lines, range, bucketMs, format, height = 150, onZoom, isBare = false, summary }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [hover, setHover] = useState(/** @type {{ at: number | null, left: number } | null} */ (null));
  const [width, setWidth] = useState(0);
  const theme = useThemeChanges();
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (width === 0 || box.current === null) return undefined;
    const plot = draw(box.current, { kind, times, lines, height, format, range, bucketMs, onZoom, onHover: setHover, isBare });
    return () => plot.destroy();
  }, [width, theme, kind, height, JSON.stringify([times, lines.map(({ values, label }) => [label, values]), bucketMs])]);
  const shown = hover === null || hover.at === null ? null : hover;
  return html`<figure class="chart">
    <div class="chart-box" style=${`height:${height}px`} ref=${box} role="img" aria-label=${`${title}. ${summary ?? ''}`} />
    ${shown !== null && html`<${Tooltip} at=${times[shown.at]} index=${shown.at} left=${shown.left + (isBare ? 0 : 52)} width=${width} lines=${lines} format=${format} />`}
    <${Table} title=${title} times=${times} lines=${lines} format=${format} />
  </figure>`;
}

function Tooltip({ at, index, left, width, lines, format }) {
  const side = left > width / 2 ? `right:${width - left + 12}px` : `left:${left + 12}px`;
  const rows = lines.filter(({ values }) => values[index] !== null && values[index] !== 0);
  return html`<div class="tooltip" style=${side} aria-hidden="true"><div class="tooltip-time">${exact(at).replace(/:\d\d\.\d+Z?$/, '')}</div>
    ${(rows.length === 0 ? lines.slice(0, 1) : rows.toReversed()).map((line) => html`<div class="tooltip-row" key=${line.label}><span class="swatch" style=${`background:var(${line.colour})`} /><span>${line.label}</span><b>${format(line.values[index] ?? 0)}</b></div>`)}
  </div>`;
}

/** The same for those who do not see a canvas. */
function Table({ title, times, lines, format }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="chart-table" onToggle=${(event) => setOpen(event.target.open)}><summary>View as table<span class="hidden">: ${title}</span></summary>
    ${isOpen && html`<div class="table-scroll" tabindex="0" role="region" aria-label=${title}><table class="table"><thead><tr><th scope="col">Time</th>${lines.map(({ label }) => html`<th scope="col" class="num">${label}</th>`)}</tr></thead>
      <tbody>${times.map((at, index) => html`<tr key=${at}><td>${exact(at).replace(/\.\d+Z?$/, '')}</td>${lines.map(({ label, values }) => html`<td class="num" key=${label}>${values[index] === null ? '–' : format(values[index])}</td>`)}</tr>`)}</tbody></table></div>`}
  </details>`;
}

/** @param {{ lines: Line[] }} props */
export const Legend = ({ lines }) => html`<ul class="legend">${lines.map(({ label, colour: name }) => html`<li key=${label}><span class="swatch" style=${`background:var(${name})`} />${label}</li>`)}</ul>`;
