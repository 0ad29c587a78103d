/** Ranges of the calendar, in the zone in which the page shows times. */
import { isUtc } from './format.js';

/** @param {number} now @returns {{ label: string, from: string, to?: string }[]} */
export function calendarRanges(now) {
  const date = new Date(now);
  const at = (months, days) =>
    (isUtc()
      ? new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, days))
      : new Date(date.getFullYear(), date.getMonth() + months, days)
    )
      .toISOString()
      .replace('T00:00:00.000Z', '');
  const today = isUtc() ? date.getUTCDate() : date.getDate();
  return [
    { label: 'Today', from: at(0, today) },
    { label: 'Yesterday', from: at(0, today - 1), to: at(0, today) },
    { label: 'This month', from: at(0, 1) },
    { label: 'Last month', from: at(-1, 1), to: at(0, 1) },
  ];
}
