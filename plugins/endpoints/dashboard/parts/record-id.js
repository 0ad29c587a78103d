/** Knows the id of a request. Every page needs this, for an id that is pasted, so it is not with the filters of the log. */
const parts = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;
const idOrBegin =
  /^0[\da-f]{7}(?:-[\da-f]{0,4}|-[\da-f]{4}-[\da-f]{0,4}|(?:-[\da-f]{4}){2}-[\da-f]{0,4}|(?:-[\da-f]{4}){3}-[\da-f]{0,12})?$/i;

/**
 * The id of a request or the start of one, or the id of an answer, if the
 * text is nothing else. Null for any other text: `core/log/record-id.ts`.
 * @param {string} text
 */
export function idAlone(text) {
  const id = text
    .trim()
    .replace(/^(?:chatcmpl-|resp_|msg_)/, '')
    .replace(parts, '$1-$2-$3-$4-$5');
  return idOrBegin.test(id) ? id : null;
}

/** Whether the text is a whole id. @param {string | null} id */
export const isWholeId = (id) => id?.length === 36;
