/**
 * Shrinks the dashboard's sources before they are sent: removes comments, types in comments, and indentation. The code of each line
 * stays as it is.
 */

/**
 * A script without comments and indentation. Multi-line texts lose their
 * indentation too: only `htm` templates have some, and `htm` ignores it.
 */
export function leanScript(source: string): string {
  return source
    .replaceAll(/^[ \t]*\/\*\*?[\s\S]*?\*\/[ \t]*\n/gm, '')
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, '')
    .replaceAll(/^[ \t]*\/\/.*\n/gm, '')
    .replaceAll(/^[ \t]+/gm, '');
}

/** A style sheet without comments, indentation, and spaces around punctuation. */
export const leanStyle = (source: string): string =>
  source
    .replaceAll(/\/\*[\s\S]*?\*\/\n?/g, '')
    .replaceAll(/^[ \t]+/gm, '')
    .replaceAll(/\s*([{};,])\s*/g, '$1')
    .replaceAll(': ', ':');
