/** The name of a value in lists, tables and charts. */

/**
 * An empty text is shown as a word, and has no link: in a filter an empty text means that there is no value.
 * @param {string | null} value @param {string} [none] the word for no value
 */
export const nameOf = (value, none = '(none)') => (value === '' ? '(empty)' : (value ?? none));
