/** Words in columns, for a terminal. */

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  read(row: Row): string;
}

/** A caller's text on an operator's terminal: no control characters, no escape sequences. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');

export function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ read }) => printable(read(row))))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map((line) => lineOf(line, { columns, widths })).join('');
}

interface Widths<Row> {
  readonly columns: readonly Column<Row>[];
  readonly widths: readonly number[];
}

function lineOf<Row>(line: readonly string[], { columns, widths }: Widths<Row>): string {
  const padded = line.map((cell, column) => (columns[column]?.isNumber === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)));
  return `${padded.join('  ').trimEnd()}\n`;
}

/** One line under a table that has been printed: as wide as its columns are by themselves. */
export const rowOf = <Row>(row: Row, columns: readonly (Column<Row> & { readonly width: number })[]): string =>
  lineOf(columns.map(({ read }) => printable(read(row))), { columns, widths: columns.map(({ width }) => width) });

export const count = (value: number | null): string => (value === null ? '–' : String(value));

/** A figure that is an estimate, or has one in it, says so. Nothing is nothing, counted or not. */
export const about = (figure: string, isEstimate: boolean): string => (isEstimate && !['–', '0', '$0'].includes(figure) ? `≈${figure}` : figure);

/** `310 ms`, `1.9 s`, `2.5 min` */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** Four digits that say something; null: not known, which is not nothing. */
export function dollars(text: string | null): string {
  if (text === null) return '–';
  const value = Number(text);
  return value === 0 ? '$0' : `$${value >= 1 ? value.toFixed(2) : Number(value.toPrecision(4)).toFixed(12).replace(/\.?0+$/, '')}`;
}
