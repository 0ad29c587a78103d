/** A value as the catalogue writes it: on one line, as YAML. */

/** Decimals and dates are quoted, and names that YAML would read as something else. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).map(([key, inner]) => `${key}: ${flow(inner)}`);
    return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
  }
  return typeof value === 'string' && !/^[A-Za-z][\w./ -]*$/.test(value) ? JSON.stringify(value) : String(value);
}
