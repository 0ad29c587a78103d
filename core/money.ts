/**
 * Money is counted in whole pico-dollars (10^-12 dollar) as bigints, never in floats, so sums are exact. A price of $0.0375 per
 * million tokens is 37,500 pico-dollars per token.
 */

const digits = 12;
const pattern = /^(\d+)(?:\.(\d+))?$/;

/** Dollars as text → pico-dollars: `"0.00000125"` → `1250000n`. Undefined where the text is not a plain decimal, or is finer than 10^-12 dollar. */
export function parseDollars(text: string): bigint | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const trimmed = fraction.replace(/0+$/, '');
  if (trimmed.length > digits) return undefined;
  return BigInt(whole + trimmed.padEnd(digits, '0'));
}

/** Pico-dollars → dollars as text, without zeros at the end: `1250000n` → `"0.00000125"`. */
export function formatDollars(pico: bigint): string {
  const text = (pico < 0n ? -pico : pico).toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${pico < 0n ? '-' : ''}${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}
