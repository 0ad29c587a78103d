/** The range of the data that a page shows. */
import { useRef } from './html.js';

/**
 * While the data of another range is loading, this is the range before: with the new one, the figures would be those of another time,
 * and the charts would be empty.
 * @template Range
 * @param {Range} range the range of the address
 * @param {boolean} isLoading
 * @returns {Range}
 */
export function useShownRange(range, isLoading) {
  const shown = useRef(range);
  if (!isLoading) shown.current = range;
  return shown.current;
}
