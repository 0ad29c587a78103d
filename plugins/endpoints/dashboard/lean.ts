/**
 * Our sources as they travel: without comments that are whole lines, types in comments, and indentation. Line by line, and
 * nothing else: what a line does is what its source does.
 */

/** Inside a template a line break and the blanks after it mean nothing to `htm`; no other text of ours goes over lines. */
export function leanScript(source: string): string {
  return source
    .replaceAll(/^[ \t]*\/\*\*?[\s\S]*?\*\/[ \t]*\n/gm, '')
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, '')
    .replaceAll(/^[ \t]*\/\/.*\n/gm, '')
    .replaceAll(/^[ \t]+/gm, '');
}

export const leanStyle = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\/\n?/g, '').replaceAll(/^[ \t]+/gm, '').replaceAll(/\s*([{};,])\s*/g, '$1').replaceAll(': ', ':');
