/**
 * A text as Markdown.
 * safety: the library only splits the text; each piece becomes an element of a fixed list, with its text as text. HTML in it is shown
 * as it is written, an image as a link, so that nothing of another site is loaded, and a link leads to the web or to mail alone.
 */
import { lexer } from 'marked';
import { html, useMemo } from './html.js';
import { Text } from './text.js';

const longest = 100_000;
/** Signs of emphasis and of images in one paragraph: the time of the library grows with their square, and 3,000 take it a second. */
const mostSigns = 3000;
/** A line that begins with 40 signs of quotes and lists: the library overflows its stack at some thousands. */
const deepLine = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){40}/m;
/** A word or a gap: the time of the library grows with the square of its length, and many of 10,000 take it five seconds. */
const longWord = /\S{2000}|\s{2000}/;
/** The library gives each line of a table all columns: 10 kB can be millions of cells, for which the browser has no memory. */
const mostCells = 300_000;

/** Whether the library would take seconds for a text, or could not read it: whoever opens such a request could not use the page. */
function isHard(text) {
  if (text.length > longest || deepLine.test(text) || longWord.test(text)) return true;
  const lines = text.split(/[\r\n]/);
  if (lines.some((line) => line.split('|').length * lines.length > mostCells)) return true;
  const signs = text.split(/\n[ \t]*\n/).map((paragraph) => paragraph.split(/[*_~!]/).length - 1);
  return signs.reduce((sum, many) => sum + many ** 2, 0) > mostSigns ** 2;
}

/** The levels of quotes and lists in each other that are drawn. */
const deepest = 50;

/** @param {any[]} pieces @returns {boolean} */
const isDeeper = (pieces, levels = deepest) =>
  levels === 0 || pieces.some(({ tokens, items }) => isDeeper(tokens ?? items ?? [], levels - 1));

/** The pieces of a text; a text that is hard to read or to draw is one piece, unchanged. @param {string} text @returns {any[]} */
export function piecesOf(text) {
  const whole = [{ type: 'code', text }];
  if (isHard(text)) return whole;
  const pieces = lexer(text, { gfm: true, breaks: true });
  return isDeeper(pieces) ? whole : pieces;
}

/** @param {{ text: string }} props */
export function Markdown({ text }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return html`<${Pieces} of=${pieces} />`;
}

const Pieces = ({ of = /** @type {any[]} */ ([]) }) => of.map((piece, at) => html`<${Piece} key=${at} piece=${piece} />`);

/** @param {string} href */
const isSafe = (href) => /^(?:https?:\/\/|mailto:)/i.test(href);

/** @param {{ href: string, children?: any }} props */
const Link = ({ href, children }) =>
  isSafe(href)
    ? html`<a href=${href} title=${href} target="_blank" rel="noreferrer nofollow">${children}</a>`
    : html`${children} <code><${Text} text=${href} /></code>`;

/** The pieces that hold others, by their kind. @type {Record<string, (piece: any) => any>} */
const kinds = {
  space: () => null,
  def: () => null,
  hr: () => html`<hr />`,
  br: () => html`<br />`,
  paragraph: ({ tokens }) => html`<p><${Pieces} of=${tokens} /></p>`,
  // a heading inside a text is not a heading of the page
  heading: ({ tokens, depth }) => html`<p class="markdown-head markdown-head-${depth}"><${Pieces} of=${tokens} /></p>`,
  blockquote: ({ tokens }) => html`<blockquote><${Pieces} of=${tokens} /></blockquote>`,
  strong: ({ tokens }) => html`<strong><${Pieces} of=${tokens} /></strong>`,
  em: ({ tokens }) => html`<em><${Pieces} of=${tokens} /></em>`,
  del: ({ tokens }) => html`<del><${Pieces} of=${tokens} /></del>`,
  codespan: ({ text }) => html`<code><${Text} text=${text} /></code>`,
  code: ({ text }) => html`<pre class="small" tabindex="0"><code><${Text} text=${text} /></code></pre>`,
  link: ({ href, tokens }) => html`<${Link} href=${href}><${Pieces} of=${tokens} /><//>`,
  image: ({ href, text }) => html`<${Link} href=${href}><${Text} text=${`image: ${text || href}`} /><//>`,
  list: ({ ordered, start, items }) =>
    ordered ? html`<ol start=${start === '' ? 1 : start}><${Items} of=${items} /></ol>` : html`<ul><${Items} of=${items} /></ul>`,
  table: ({ header, rows }) => html`<div class="table-scroll"><table class="table">
    <thead><tr>${header.map((cell, at) => html`<th key=${at} scope="col"><${Pieces} of=${cell.tokens} /></th>`)}</tr></thead>
    <tbody>${rows.map(
      (row, at) =>
        html`<tr key=${at}>${row.map((cell, column) => html`<td key=${column} class="wrap"><${Pieces} of=${cell.tokens} /></td>`)}</tr>`,
    )}</tbody>
  </table></div>`,
};

const Items = ({ of }) =>
  of.map(({ task, checked, tokens }, at) => html`<li key=${at}>${task && (checked ? '☑ ' : '☐ ')}<${Pieces} of=${tokens} /></li>`);

/** A piece of any other kind, HTML above all, is shown as it is written. */
function Piece({ piece }) {
  if (Object.hasOwn(kinds, piece.type)) return kinds[piece.type]?.(piece);
  if (piece.type === 'text' && piece.tokens !== undefined) return html`<${Pieces} of=${piece.tokens} />`;
  return html`<${Text} text=${String(piece.type === 'text' || piece.type === 'escape' ? piece.text : piece.raw)} />`;
}
