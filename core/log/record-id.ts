/** Ids of requests as people write them: whole, or their begin. */

const prefix = /^[0-9a-f]{8}(?:-[0-9a-f]{0,4}|-[0-9a-f]{4}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){2}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{0,12})?$/i;

/** Whether a text is the id of a request, or its first 8 characters or more. */
export const isIdPrefix = (text: string): boolean => prefix.test(text);

/** What answers write before the id of their request, in one form or another. */
const answerId = /^(?:chatcmpl-|resp_|msg_)/;

/**
 * The id that a text is meant as which stands alone: the id of a request, its begin, or the id of its answer. Null: it is no id. Those of
 * this century begin with a 0, and a date or an amount does not.
 */
export function idAlone(text: string): string | null {
  const id = text.trim().replace(answerId, '').replace(/^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i, '$1-$2-$3-$4-$5');
  return id.startsWith('0') && isIdPrefix(id) ? id : null;
}

/** Its digits alone, in lower case. */
export const hexOf = (id: string): string => id.replaceAll('-', '').toLowerCase();
