/** The tokens of the mock: each is a word with the white space before it, or a part of a long word. All tokens joined give the text. */

// the flag u matches whole code points, so that no token ends inside a surrogate pair
const piece = /\s*\S{1,12}|\s+/uy;

/** Generates the tokens of a text, in order. */
export function* pieces(text: string): Generator<string, void> {
  for (let at = 0; at < text.length;) {
    const end = nextEnd(text, at);
    yield text.slice(at, end);
    at = end;
  }
}

/** The number of tokens in a text. */
export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = nextEnd(text, at)) count++;
  return count;
}

/** The beginning of a text with at most `tokens` tokens. */
export function truncate(text: string, tokens: number): string {
  let at = 0;
  for (let count = 0; count < tokens && at < text.length; count++) at = nextEnd(text, at);
  return text.slice(0, at);
}

function nextEnd(text: string, at: number): number {
  piece.lastIndex = at;
  return piece.test(text) ? piece.lastIndex : text.length;
}
