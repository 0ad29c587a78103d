/** Boxes of frames as one static SVG: the colour shows the part of the source code, and the tooltip of a box shows its function, file, share and time. */
import { boxesOf } from './frames.ts';
import type { Box, Frame, Room } from './frames.ts';

const width = 1200;
const margin = 10;
const top = 92;
const rowHeight = 18;
const leastShare = 0.004;

/** The width of a letter: the font has 11 pixels and a fixed width. */
const letterWidth = 6.7;

const rooms: Readonly<Record<Room, readonly [colour: string, label: string]>> = {
  core: ['#a9c8f5', 'core'],
  plugin: ['#a6dba8', 'plugins'],
  package: ['#f7cf94', 'packages (undici, h3)'],
  node: ['#d9c4ee', 'JavaScript of Node'],
  native: ['#d6d6d6', 'native code and system calls'],
  gc: ['#f2aaa3', 'garbage collector'],
};

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const short = (value: number): string => String(Math.round(value * 10) / 10);

/** The part of a name that fits into its box; nothing where that is less than three letters. */
export function fitting(name: string, boxWidth: number): string {
  const letters = Math.floor((boxWidth - 6) / letterWidth);
  if (letters >= name.length) return name;
  return letters < 3 ? '' : `${name.slice(0, letters - 1)}…`;
}

/** A function without a name has that of its file, or of its folder. */
const labelOf = ({ name, file }: Frame): string =>
  name === 'anonymous' && file !== ''
    ? (file
        .replace(/\/index\.\w+$/, '')
        .split('/')
        .at(-1) as string)
    : name;

const textAt = (x: number, y: number, text: string): string =>
  text === '' ? '' : `<text x="${short(x)}" y="${short(y)}">${escaped(text)}</text>`;

export interface Drawing {
  readonly whole: Frame;
  /** The number of requests that were served in the window of the profile. */
  readonly requests: number;
  /** The line below the title: the load, and the Node version. */
  readonly about: string;
}

function titleOf({ frame }: Box, { whole, requests }: Drawing): string {
  const share = `${((frame.ms / whole.ms) * 100).toFixed(1)} %, ${((frame.ms / requests) * 1000).toFixed(1)} µs a request`;
  return escaped(`${frame.name}${frame.file === '' ? '' : `, ${frame.file}`}: ${share}`);
}

function boxOf(box: Box, drawing: Drawing): string {
  const [x, y] = [margin + box.x, top + box.depth * rowHeight];
  // one pixel less in each direction, so that there is a gap between neighbours
  const path = `M${short(x)} ${y}h${short(Math.max(box.width - 0.6, 0.4))}v${rowHeight - 1}H${short(x)}z`;
  return `<g><title>${titleOf(box, drawing)}</title><path class="${box.frame.room}" d="${path}"/>${textAt(x + 3, y + 12.5, fitting(labelOf(box.frame), box.width))}</g>`;
}

function legend(): string {
  let x = margin;
  return Object.entries(rooms)
    .map(([room, [, label]]) => {
      const entry = `<path class="${room}" d="M${short(x)} 68h12v12h-12z"/>${textAt(x + 17, 78, label)}`;
      x += 17 + label.length * letterWidth + 22;
      return entry;
    })
    .join('\n');
}

const styles = `text{font:11px ui-monospace,Menlo,"DejaVu Sans Mono",monospace;fill:#1c1c1c;pointer-events:none}.title{font-size:15px;font-weight:600}${Object.entries(
  rooms,
)
  .map(([room, [colour]]) => `.${room}{fill:${colour}}`)
  .join('')}`;

export function draw(drawing: Drawing): string {
  const boxes = boxesOf(drawing.whole, { width: width - 2 * margin, least: leastShare });
  const height = top + (Math.max(...boxes.map(({ depth }) => depth)) + 1) * rowHeight + margin;
  const reading = `A frame is called by the one above it, and as wide as its share of the time. Frames below ${short(leastShare * 100)} % are left out. Point at one for its file and time.`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>${styles}</style>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text class="title" x="${margin}" y="22">Where the time of the gateway’s main thread goes</text>`,
    textAt(margin, 40, drawing.about),
    textAt(margin, 56, reading),
    legend(),
    ...boxes.map((box) => boxOf(box, drawing)),
    '</svg>\n',
  ].join('\n');
}
