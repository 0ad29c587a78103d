/** The mock's tokens: a word with the white space before it, long words in several pieces. Joined they are the text again. */

// whole code points (u), so that no piece ends inside a surrogate pair
const piece = /\s*\S{1,12}|\s+/uy;

/** The tokens of a text, one by one. */
export function* pieces(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; ) {
    const end = nextEnd(text, at);
    yield text.slice(at, end);
    at = end;
  }
}

/** How many tokens a text has. */
export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = nextEnd(text, at)) count++;
  return count;
}

/** The beginning of a text, of so many tokens at most. */
export function truncate(text: string, tokens: number): string {
  let at = 0;
  for (let count = 0; count < tokens && at < text.length; count++) at = nextEnd(text, at);
  return text.slice(0, at);
}

function nextEnd(text: string, at: number): number {
  piece.lastIndex = at;
  return piece.test(text) ? piece.lastIndex : text.length;
}
