/**
 * The changes of a request on its way to the provider. Providers have other names and other places for the same values, so a value is
 * looked for by its place, then by its name, and then by the value alone.
 */

/**
 * One line of a body: `same` and `moved` stand in both, `changed` has another value at the same place, `only` is in this body alone.
 * @typedef {{ path: string, depth: number, text: string, mark: 'same' | 'moved' | 'changed' | 'only', note: string | null,
 *   marks: number }} Line
 */

/** @typedef {{ path: string, name: string, value: unknown, text: string, twin: Leaf | null }} Leaf */

const isLeaf = (value) => typeof value !== 'object' || value === null || Object.keys(value).length === 0;
const pathOf = (path, name, isItem) => (isItem ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`);

/** @param {unknown} value @returns {Generator<Leaf>} */
function* leavesOf(value, path = '', name = '') {
  if (isLeaf(value)) yield { path, name, value, text: JSON.stringify(value), twin: null };
  else {
    for (const [key, inner] of Object.entries(/** @type {object} */ (value))) {
      yield* leavesOf(inner, pathOf(path, key, Array.isArray(value)), Array.isArray(value) ? name : key);
    }
  }
}

/** Makes two leaves twins if `keyOf` returns the same key for both. Each leaf gets one twin at most, in the order of the bodies. */
function pair(sent, asked, keyOf) {
  const waiting = Map.groupBy(
    asked.filter((leaf) => leaf.twin === null && keyOf(leaf) !== null),
    keyOf,
  );
  for (const leaf of sent.filter(({ twin }) => twin === null)) {
    const twin = waiting.get(keyOf(leaf))?.shift();
    if (twin !== undefined) [leaf.twin, twin.twin] = [twin, leaf];
  }
}

/** Values such as true are too common to be paired without their name. */
const isTelling = ({ value }) => (typeof value === 'string' && value !== '') || typeof value === 'number';

const longest = 600;
const short = (text) =>
  text.length > longest ? `${text.slice(0, longest - 100)}… (${text.length - longest + 100} more characters)` : text;

/** @param {Line[]} lines @param {Line['mark']} mark */
const count = (lines, mark) => lines.filter((line) => line.mark === mark).length;

/** @param {unknown} body @param {Leaf[]} all its leaves @param {'asked as' | 'sent as'} word @returns {Line[]} */
function linesOf(body, all, word) {
  const leaves = new Map(all.map((leaf) => [leaf.path, leaf]));
  /** @type {Line[]} */
  const lines = [];
  const write = (value, { path, depth, head, tail }) => {
    const leaf = leaves.get(path);
    if (isLeaf(value) && leaf !== undefined) {
      const { twin } = leaf;
      const mark = twin === null ? 'only' : twin.path !== path ? 'moved' : twin.text === leaf.text ? 'same' : 'changed';
      const note = mark === 'moved' ? `${word} ${twin?.path}` : mark === 'changed' ? `${word} ${short(twin?.text ?? '')}` : null;
      lines.push({ path, depth, text: `${head}${short(leaf.text)}${tail}`, mark, note, marks: mark === 'same' ? 0 : 1 });
      return lines.at(-1)?.marks ?? 0;
    }
    const isList = Array.isArray(value);
    const [open, close] = isList ? '[]' : '{}';
    const entries = Object.entries(value);
    const begin = { path, depth, text: `${head}${open}`, mark: /** @type {const} */ ('same'), note: null, marks: 0 };
    lines.push(begin);
    for (const [at, [key, inner]] of entries.entries()) {
      const name = isList ? '' : `${JSON.stringify(key)}: `;
      const comma = at === entries.length - 1 ? '' : ',';
      begin.marks += write(inner, { path: pathOf(path, key, isList), depth: depth + 1, head: name, tail: comma });
    }
    lines.push({ ...begin, text: `${close}${tail}` });
    return begin.marks;
  };
  write(body, { path: '', depth: 0, head: '', tail: '' });
  return lines;
}

/** The lines of both bodies. @param {unknown} asked @param {unknown} sent */
export function differenceOf(asked, sent) {
  const [before, after] = [[...leavesOf(asked)], [...leavesOf(sent)]];
  pair(after, before, ({ path, text }) => `${path} ${text}`);
  pair(after, before, ({ name, text }) => `${name} ${text}`);
  pair(after, before, (leaf) => (isTelling(leaf) ? leaf.text : null));
  pair(after, before, ({ path }) => path);
  const lines = { asked: linesOf(asked, before, 'sent as'), sent: linesOf(sent, after, 'asked as') };
  return {
    ...lines,
    changed: count(lines.sent, 'changed'),
    added: count(lines.sent, 'only'),
    moved: count(lines.sent, 'moved'),
    left: count(lines.asked, 'only'),
  };
}
