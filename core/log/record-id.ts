/** Ids of requests as people write them: whole, or their begin. */

const prefix = /^[0-9a-f]{8}(?:-[0-9a-f]{0,4}|-[0-9a-f]{4}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){2}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{0,12})?$/i;

/** Whether a text is the id of a request, or its first 8 characters or more. */
export const isIdPrefix = (text: string): boolean => prefix.test(text);

/** Whether a word that stands alone is meant as an id: those of this century begin with a 0, and a date or an amount does not. */
export const looksLikeId = (text: string): boolean => text.startsWith('0') && isIdPrefix(text);

/** Its digits alone, in lower case. */
export const hexOf = (id: string): string => id.replaceAll('-', '').toLowerCase();
