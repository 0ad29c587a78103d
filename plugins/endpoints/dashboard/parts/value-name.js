/** The name of a value in lists, tables and charts. */

/**
 * What is empty has a word of its own, and no link: in a filter an empty text means that there is no value.
 * @param {string | null} value @param {string} [none] what stands for no value
 */
export const nameOf = (value, none = '(none)') => (value === '' ? '(empty)' : (value ?? none));
