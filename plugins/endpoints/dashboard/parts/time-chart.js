/**
 * A chart of values over time, as stacked bars or as lines, in the colours of the page.
 * Dragging zooms; a tooltip shows the values at the pointer; a table has all values.
 */
import { html, useEffect, useMemo, useRef, useState } from './html.js';
import { logTicks, timeTicks, valueTicks } from './chart-ticks.js';
import { ChartTable, Tooltip } from './chart-words.js';
import { usePrinting } from './printing.js';

/**
 * `estimated` says which of the values contain estimates.
 * @typedef {{ label: string, colour: string, values: (number | null)[], estimated?: boolean[] }} Line
 */

const above = 6;
const below = 20;

/** The width of a drawing on paper, between the margins of A4. Wider and narrower paper shows the same drawing. */
const paperWidth = 670;

/** For each value the lower and the upper end of its bar; each bar begins where the bar below it ends. @param {Line[]} lines */
function stacked(lines) {
  const sums = lines[0]?.values.map(() => 0) ?? [];
  return lines.map(({ values }) => values.map((value, at) => [sums[at] ?? 0, (sums[at] = (sums[at] ?? 0) + (value ?? 0))]));
}

/**
 * The ends of an axis, and the place of a value on the axis, from 0 to 1. A logarithmic axis begins at a power of ten.
 * @param {number[]} values @param {boolean} isLog
 */
function axisOf(values, isLog) {
  // without the factor, a logarithmic axis without values would go from 1 to 1, and no value would have a place
  const top = 1.06 * (Math.max(0, ...values) || 1);
  const low = isLog ? 10 ** Math.floor(Math.log10(Math.min(top, ...values.filter((value) => value > 0)))) : 0;
  return { low, top, shareOf: (value) => (isLog ? Math.log(Math.max(value, low) / low) / Math.log(top / low) : value / top) };
}

/** The functions that turn times and values into positions, and positions into times. */
function scalesOf({ spans, width, height, range, isBare, isLog, format }) {
  const { low, top, shareOf } = axisOf(
    spans.flat().map((span) => span?.[1] ?? 0),
    isLog,
  );
  const space = height - above - below;
  const ticks = isBare ? [] : isLog ? logTicks({ low, top }, space, format) : valueTicks(top, space, format);
  const left = isBare ? 0 : 12 + 6.2 * Math.max(...ticks.map(({ label }) => label.length));
  const perMs = (width - left) / Math.max(1, range.to - range.from);
  return {
    left,
    ticks,
    x: (at) => left + (at - range.from) * perMs,
    y: (value) => Number((above + (1 - shareOf(value)) * space).toFixed(1)),
    timeAt: (x) => range.from + Math.max(0, x - left) / perMs,
  };
}

function columnsOf(spans, { times, bucketMs, x, y, width }) {
  return spans
    .map(([from, to], at) => {
      if (to === from) return '';
      const begin = Math.round(x(times[at]));
      const whole = Math.min(width, Math.round(x(times[at] + bucketMs))) - begin;
      const high = Math.max(1, y(from) - y(to)).toFixed(1);
      return `M${begin} ${y(from)}v-${high}h${Math.max(1, whole - Math.max(1, Math.round(whole * 0.18)))}v${high}z`;
    })
    .join('');
}

/** How far before the right end of a chart a dot must be, so that all of it is seen. */
const dotSpace = 5;

/** The place of a value of a line: the middle of its time, or before the end of a chart that ends within this time. */
const middleOf = (at, { bucketMs, x, width }) => Math.min(x(at + bucketMs / 2), width - dotSpace).toFixed(1);

/** The path of a line, which also crosses gaps. One or two values are drawn as dots. */
function lineOf(spans, { times, y, ...scale }) {
  const places = spans.flatMap((span, at) => (span === null ? [] : [`${middleOf(times[at], scale)} ${y(span[1])}`]));
  return places.length < 3 ? places.map((place) => `M${place}h0`).join('') : `M${places.join('L')}`;
}

/** The area between two lines, as far as both have values. */
function bandOf([low, high], { times, y, ...scale }) {
  const known = times.map((_, at) => at).filter((at) => low[at] !== null && high[at] !== null);
  const placesOf = (spans, order) => order.map((at) => `${middleOf(times[at], scale)} ${y(spans[at][1])}`);
  return known.length < 3 ? '' : `M${[...placesOf(high, known), ...placesOf(low, known.toReversed())].join('L')}Z`;
}

function drawingOf({ kind, lines, band, spans, scales, range, width, height, times, bucketMs, isByDay }) {
  const { left, ticks, x, y } = scales;
  const draw = kind === 'bars' ? columnsOf : lineOf;
  const places = { times, bucketMs, x, y, width };
  return html`<svg class="chart-drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
    ${ticks.map(
      ({ value, label }) => html`<path key=${value} class="chart-grid" d=${`M${left} ${Math.round(y(value)) + 0.5}H${width}`} />
        <text x=${left - 7} y=${y(value) + 4} text-anchor="end">${label}</text>`,
    )}
    ${timeTicks(range, width - left, isByDay || undefined).map(({ at, label }) =>
      x(at) < left + 14 || x(at) > width - 16
        ? null
        : html`<text key=${at} x=${x(at)} y=${height - 5} text-anchor="middle">${label}</text>`,
    )}
    ${
      band !== undefined &&
      html`<path class="chart-band" style=${`--colour:var(${lines[band[1]].colour})`} d=${bandOf(
        band.map((at) => spans[at]),
        places,
      )} />`
    }
    ${lines.map(
      ({ label, colour }, at) => html`<path
        key=${label}
        class="chart-${kind}"
        style=${`--colour:var(${colour})`}
        d=${draw(spans[at], places)}
      />`,
    )}
  </svg>`;
}

/** The width of the drawing. No browser reports how wide a box is on paper. @param {{ current: HTMLElement | null }} box */
function useWidth(box) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)));
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return usePrinting() ? paperWidth : width;
}

/**
 * The place of the pointer on the chart, and the place where a drag began. The end of a drag zooms to the range of the drag.
 * @param {{ scales: any, width: number, bucketMs: number, onZoom?: (from: number, to: number) => void }} chart
 */
function usePointer({ scales, width, bucketMs, onZoom }) {
  const [pointer, setPointer] = useState(/** @type {{ x: number, from: number | null } | null} */ (null));
  const placeOf = (event) => Math.min(width, Math.max(scales.left, event.clientX - event.currentTarget.getBoundingClientRect().left));
  const onPointerDown = (event) => {
    if (event.button !== 0 || onZoom === undefined) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setPointer({ x: placeOf(event), from: placeOf(event) });
  };
  const onPointerUp = () => {
    setPointer(null);
    if (pointer === null || pointer.from === null || Math.abs(pointer.x - pointer.from) < 4) return;
    const bucketAt = (x) => Math.floor(scales.timeAt(x) / bucketMs) * bucketMs;
    onZoom(bucketAt(Math.min(pointer.x, pointer.from)), bucketAt(Math.max(pointer.x, pointer.from)) + bucketMs);
  };
  const handlers = {
    onPointerMove: (event) => setPointer({ x: placeOf(event), from: pointer?.from ?? null }),
    onPointerDown,
    onPointerUp,
    onPointerCancel: () => setPointer(null),
    onPointerLeave: () => pointer?.from === null && setPointer(null),
  };
  return { pointer, handlers };
}

/** A part of the chart that is marked over its whole height. */
const Marked = ({ name, from, to }) => html`<i class=${name} style=${`left:${Math.min(from, to)}px;width:${Math.abs(to - from)}px`} />`;

/**
 * @param {{ title: string, kind?: 'bars' | 'lines', times: number[], lines: Line[], range: { from: number, to: number }, bucketMs: number,
 *   format: (value: number) => string, height?: number, onZoom?: (from: number, to: number) => void, isBare?: boolean, isLog?: boolean,
 *   band?: [low: number, high: number], summary?: string, isByDay?: boolean }} props
 *   `onZoom`: absent where the page has no range of time; `isLog`: a logarithmic axis, for lines that are powers of ten apart; `band`: two
 *   lines, the area between which is filled; `isByDay`: the times are days of UTC, whatever zone is shown
 */
export function TimeChart({ title, times, lines, range, bucketMs, format, onZoom, band, summary, ...look }) {
  const { kind = 'bars', height = 150, isBare = false, isLog = false, isByDay = false } = look;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const width = useWidth(box);
  const { scales, drawing } = useMemo(() => {
    const spans = kind === 'bars' ? stacked(lines) : lines.map(({ values }) => values.map((value) => (value === null ? null : [0, value])));
    const made = scalesOf({ spans, width, height, range, isBare, isLog, format });
    return {
      scales: made,
      drawing: width === 0 ? null : drawingOf({ kind, lines, band, spans, scales: made, range, width, height, times, bucketMs, isByDay }),
    };
  }, [times, lines, width, height, kind]);
  const { pointer, handlers } = usePointer({ scales, width, bucketMs, onZoom });
  const index = pointer === null ? -1 : Math.floor((scales.timeAt(pointer.x) - times[0]) / bucketMs);
  const at = times[index];
  const tooltip = { at, index, left: pointer?.x ?? 0, width, kind, lines, format, isByDay };
  const isDragged = pointer !== null && pointer.from !== null;
  return html`<figure class="chart">
    <div class="chart-box" style=${`height:${height}px`} ref=${box} role="img" aria-label=${`${title}. ${summary ?? ''}`} ...${handlers}>
      ${at !== undefined && html`<${Marked} name="chart-cursor" from=${scales.x(at)} to=${scales.x(at + bucketMs)} />`}
      ${isDragged && html`<${Marked} name="chart-selection" from=${pointer.from} to=${pointer.x} />`}
      ${drawing}
    </div>
    ${at !== undefined && html`<${Tooltip} ...${tooltip} />`}
    <${ChartTable} title=${title} times=${times} lines=${lines} format=${format} isByDay=${isByDay} />
  </figure>`;
}
