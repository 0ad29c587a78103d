/**
 * Shrinks the dashboard's sources before they are sent: removes comments, types in comments, indentation, empty lines, and the ends
 * of lines before closing brackets. All other code stays as it is.
 */

/**
 * A script without comments and indentation. Multi-line texts lose their indentation
 * and empty lines too: only `htm` templates have some, and `htm` ignores them.
 */
export function leanScript(source: string): string {
  return source
    .replaceAll(/^[ \t]*\/\*\*?[\s\S]*?\*\/[ \t]*\n/gm, '')
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, '')
    .replaceAll(/^[ \t]*\/\/.*\n/gm, '')
    .replaceAll(/^[ \t]+/gm, '')
    .replaceAll(/,?\n(?=[)\]}])/g, '')
    .replaceAll(/\n{2,}/g, '\n');
}

/** A style sheet without comments, indentation, and spaces around punctuation. */
export const leanStyle = (source: string): string =>
  source
    .replaceAll(/\/\*[\s\S]*?\*\/\n?/g, '')
    .replaceAll(/^[ \t]+/gm, '')
    .replaceAll(/\s*([{};,])\s*/g, '$1')
    .replaceAll(': ', ':');
