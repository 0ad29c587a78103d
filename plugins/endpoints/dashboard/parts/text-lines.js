/** Finds lines of a text, with the lines that they belong to by their indentation. */
const indentOf = (line) => line.search(/\S|$/);

/** The most lines that are shown of a block that was found. */
const mostBelow = 30;

/**
 * The places of the lines that contain the words, of the lines above that each belongs to, and of the lines below that belong to it.
 * @param {string[]} lines @param {string} words @returns {{ shown: number[], found: number }}
 */
export function linesWith(lines, words) {
  const wanted = words.toLowerCase();
  const shown = new Set();
  let found = 0;
  lines.forEach((line, at) => {
    if (!line.toLowerCase().includes(wanted)) return;
    found++;
    shown.add(at);
    for (let above = at - 1, indent = indentOf(line); above >= 0 && indent > 0; above--) {
      const own = indentOf(lines[above]);
      if (lines[above].trim() === '' || own >= indent || /^\s*#/.test(lines[above])) continue;
      indent = own;
      shown.add(above);
    }
    for (let below = at + 1; below <= at + mostBelow && below < lines.length && indentOf(lines[below]) > indentOf(line); below++) {
      shown.add(below);
    }
  });
  return { shown: [...shown].sort((a, b) => a - b), found };
}
