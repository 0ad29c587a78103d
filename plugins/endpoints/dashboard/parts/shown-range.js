/** The range of the data that a page shows. */
import { useRef } from './html.js';

/**
 * The range of the address, or the range before while the data of a new range is loading: with the new range, the figures would be
 * those of another time, and the charts would be empty.
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
