/** Whether requests with a key are served now, and until when. */

const momentOf = (date) => (date === null ? Infinity : Date.parse(date));

/** When the last of the keys ends; infinite where it does not. */
export const endOf = ({ expires, keys }) => Math.min(momentOf(expires), Math.max(...keys.map((one) => momentOf(one.expires))));

/** Why no request with this key is served now; null: requests are. @returns {'not taken' | 'disabled' | 'expired' | null} */
export function whyRefused(key) {
  if (key.isShadowed) return 'not taken';
  if (key.disabled) return 'disabled';
  return endOf(key) <= Date.now() ? 'expired' : null;
}
