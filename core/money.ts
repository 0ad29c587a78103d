/**
 * Money is whole numbers of 10^-12 dollar ("pico-dollars"), never a float: $0.0375 per million tokens is 37,500 per token.
 */

const digits = 12;
const pattern = /^(\d+)(?:\.(\d+))?$/;

/** `"0.00000125"` (dollars) → `1250000n`. Undefined when the text is no plain decimal, or finer than 10^-12. */
export function parseDollars(text: string): bigint | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const trimmed = fraction.replace(/0+$/, '');
  if (trimmed.length > digits) return undefined;
  return BigInt(whole + trimmed.padEnd(digits, '0'));
}

/** `1250000n` → `"0.00000125"`. */
export function formatDollars(pico: bigint): string {
  const text = (pico < 0n ? -pico : pico).toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${pico < 0n ? '-' : ''}${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}
