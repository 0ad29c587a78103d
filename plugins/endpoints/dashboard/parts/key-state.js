/** Whether requests with a key are served now, and until when. */
import { timeNow } from './time-now.js';

const momentOf = (date) => (date === null ? Infinity : Date.parse(date));

/** When the key itself expires, or the last of its values (several after a rotation), if that is earlier; infinite: never. */
export const endOf = ({ expires, keys }) => Math.min(momentOf(expires), Math.max(...keys.map((one) => momentOf(one.expires))));

/** Why requests with this key are refused now; null: they are served. @returns {'not taken' | 'disabled' | 'expired' | null} */
export function whyRefused(key) {
  if (key.isShadowed) return 'not taken';
  if (key.disabled) return 'disabled';
  return endOf(key) <= timeNow() ? 'expired' : null;
}
