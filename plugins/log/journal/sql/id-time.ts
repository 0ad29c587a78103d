/** The time in an id. A UUID of version 7 begins with its time in milliseconds, so a range of time is a range of ids. */

/** The lowest id that a request of this millisecond could have. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.min(Math.floor(ms), 2 ** 48 - 1)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** Whether a text is an id of a request; a database refuses any other. */
export const isId = (id: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
