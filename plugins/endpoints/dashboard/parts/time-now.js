/** The time by the clock of the gateway, which wrote the times of the log: the clock of a browser may be wrong by minutes or hours. */

let ahead = 0;

/** In milliseconds since 1970. */
export const timeNow = () => Date.now() - ahead;

/** Takes the time from an answer that has just come. The header has whole seconds, so a small difference says nothing. @param {Response} answer */
export function takeTime({ headers }) {
  const difference = Date.now() - Date.parse(headers.get('date') ?? '');
  ahead = Math.abs(difference) > 5000 ? difference : 0;
}
