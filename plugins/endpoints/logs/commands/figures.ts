/** Figures of the log as text for a terminal. An unknown figure is shown as `–`. */
import { shortDollars } from '../../../../core/money.ts';

export const count = (value: number | null): string => (value === null ? '–' : String(value));

/** Marks a figure that is an estimate, or a sum with an estimate in it. Zero and `–` stay as they are. */
export const about = (figure: string, isEstimate: boolean): string =>
  isEstimate && !['–', '0', '$0'].includes(figure) ? `≈${figure}` : figure;

/** The cost of a request, marked where it is the most that it may have cost, or an estimate. */
export const costOf = (
  figure: string,
  { costIsUpperBound, usageEstimated }: { readonly costIsUpperBound: boolean; readonly usageEstimated: boolean },
): string => (costIsUpperBound ? `≤${figure}` : about(figure, usageEstimated));

/** `310 ms`, `1.9 s`, `2.5 min` */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** How long a request took. Of one whose process died nobody knows it: its record says 0. */
export const totalOf = ({ outcome, durationMs }: { readonly outcome: string; readonly durationMs: number }): string =>
  duration(outcome === 'interrupted' ? null : durationMs);

/** The cost for a table; null: it is not known. */
export const dollars = (text: string | null): string => (text === null ? '–' : shortDollars(Number(text)));
