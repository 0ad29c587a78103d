/** Collects the faults of a config file (where, what is wrong, what to do), so that all of them are shown at once. */
import { nearest } from '../core/names.ts';
import { maskLine, maskShapes } from './masks.ts';
import type { Range } from './json.ts';
import type { Path, Position, Source } from './source.ts';
import { locate } from './source.ts';

/** One fault or warning with its position. */
export interface Problem extends Position {
  /** For example `models[0].pricing.prompt`; empty where the whole file is at fault. */
  readonly path: string;
  readonly message: string;
  /** What to write instead, for example `did you mean "models"?`; null where nothing can be proposed. */
  readonly hint: string | null;
  /** True for a warning that `gateway check` treats as a fault, although a gateway can serve with it. */
  readonly isFault?: true;
  /** Whether the problem is about a name that the file does not define: another fault may be the reason. */
  readonly isReference: boolean;
}

/** A value in a file, or its key. */
export interface Place {
  readonly source: Source;
  readonly path: Path;
  /** Which of the two is marked; `value` where it is left out. */
  readonly at?: 'key' | 'value';
}

/** The faults and warnings of one load, and the functions that add to them. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  error(place: Place, message: string, hint?: string | null): void;
  /** Adds the fault of a name that nothing has. */
  errorOfName(place: Place, message: string, hint?: string | null): void;
  warn(place: Place, message: string, hint?: string | null): void;
  /** Adds a warning that `gateway check` treats as a fault. */
  refuse(place: Place, message: string, hint?: string | null): void;
  /** Adds a fault that has a position in the text but no path, such as a YAML syntax error. */
  errorAt(text: { readonly source: Source; readonly range: Range }, message: string, hint?: string | null): void;
  /** Changes the texts about places of this source, before they are shown. */
  hide(source: Source, hidden: (path: Path, text: string) => string): void;
  /** Whether no fault was added for this value or for anything inside it. */
  isSound(place: Place): boolean;
}

/** Returns an empty collection. */
export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  // cost: `isSound` is called for each entry, and a generated file may have ten thousand faults: a set needs no search
  const faulty = new Map<Source, Set<string>>();
  const hiding = new Map<Source, (path: Path, text: string) => string>();
  const problemAt = (place: Place, message: string, hint: string | null): Problem => {
    const hidden = (text: string): string => hiding.get(place.source)?.(place.path, text) ?? text;
    return problemOf(place, hidden(message), hint === null ? null : hidden(hint));
  };
  const add = (place: Place, problem: Problem): void => {
    const paths = faulty.get(place.source) ?? new Set();
    for (let length = 0; length <= place.path.length; length += 1) paths.add(keyOf(place.path.slice(0, length)));
    faulty.set(place.source, paths);
    problems.push(problem);
  };
  return {
    problems,
    warnings,
    error: (place, message, hint = null) => add(place, problemAt(place, message, hint)),
    errorOfName: (place, message, hint = null) => add(place, { ...problemAt(place, message, hint), isReference: true }),
    warn(place, message, hint = null) {
      warnings.push(problemAt(place, message, hint));
    },
    refuse(place, message, hint = null) {
      warnings.push({ ...problemAt(place, message, hint), isFault: true });
    },
    errorAt({ source, range }, message, hint = null) {
      problems.push({ ...source.position(range), path: '', message: maskShapes(message), hint, isReference: false });
    },
    hide: (source, hidden) => void hiding.set(source, hidden),
    isSound: ({ source, path }) => faulty.get(source)?.has(keyOf(path)) !== true,
  };
}

const problemOf = (place: Place, message: string, hint: string | null): Problem => ({
  ...locate(place.source, place.path, place.at ?? 'value'),
  // YAML allows a map as a key, `? { api_key: … }`: then the path has settings in it, and their values may be secrets
  path: maskLine(pathText(place.path)),
  message: maskLine(message),
  hint: hint === null ? null : maskShapes(hint),
  isReference: false,
});

/** A text that is unique for each path. */
export const keyOf = (path: Path): string => path.map((step) => `\0${step}`).join('');

/** The hint `did you mean "…"?` with the known name that is nearest to `name`; null where no name is near. */
export function didYouMean(name: string, known: Iterable<string>): string | null {
  const best = nearest(name, known);
  return best === null ? null : `did you mean "${best}"?`;
}

/** Why a file that the config names cannot be read, in words. */
export function whyUnreadable(thrown: unknown): string {
  const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
  return reasons.get(code) ?? code;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such folder'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'permission denied'],
]);

/** Whether `path` is equal to `start` or leads into it. */
export const startsWith = (path: Path, start: Path): boolean => start.every((step, index) => path[index] === step);

/** `['models', 0, 'gpt-5.1']` → `models[0]["gpt-5.1"]`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[\w-]+$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Compares two problems by file, then line, then column; for `sort`. */
export const byPlace = (a: Problem, b: Problem): number =>
  a.file === b.file ? a.line - b.line || a.col - b.col : a.file < b.file ? -1 : 1;

const shownAtMost = 20;
const widest = 160;

/**
 * The text for a terminal: each problem with its line and carets, sorted by file and line, and the count at the end. It shows
 * the first 20 problems. `kind` is the word for one problem. Without problems the text is empty.
 */
export function formatProblems(problems: readonly Problem[], kind: 'error' | 'warning' = 'error'): string {
  if (problems.length === 0) return '';
  const sorted = problems.toSorted(byPlace);
  const files = [...new Set(sorted.map(({ file }) => file))];
  const causes = causesOf(sorted);
  const shown = causes.slice(0, shownAtMost).map(formatProblem);
  const more = causes.length - shown.length;
  const following = sorted.length - causes.length;
  if (more > 0) shown.push(`... and ${more} more`);
  if (following > 0) {
    shown.push(`... and ${following} that follow${following === 1 ? 's' : ''} from ${causes.length === 1 ? 'it' : 'them'}`);
  }
  return [...shown, `${sorted.length} ${kind}${sorted.length === 1 ? '' : 's'} in ${files.join(', ')}`].join('\n\n');
}

/** Leaves out faults that follow from another one: if a whole block is at fault, the faults inside it, and names that nothing has. */
function causesOf(problems: readonly Problem[]): readonly Problem[] {
  const blocks = new Set(problems.filter(({ path }) => /^[\w-]+$/.test(path)).map(({ file, path }) => `${file} ${path}`));
  if (blocks.size === 0) return problems;
  const isInside = ({ file, path }: Problem): boolean => /[.[]/.test(path) && blocks.has(`${file} ${path.split(/[.[]/, 1)[0] ?? ''}`);
  return problems.filter((problem) => !problem.isReference && !isInside(problem));
}

/** One problem on one line, for example `gateway.config.yaml:10:1 modles: unknown key, did you mean "models"?`. */
export function headline({ file, line, col, path, message, hint }: Problem): string {
  return `${file}:${line}:${col} ${path === '' ? '' : `${path}: `}${message}${hint === null ? '' : `, ${hint}`}`;
}

function formatProblem(problem: Problem): string {
  if (problem.source.trim() === '') return headline(problem);
  // of a long line, the excerpt begins shortly before the fault
  const start = problem.col > widest - 40 ? problem.col - 41 : 0;
  // an arrow, because the terminal gets `?` for a tab, which looks like a character of the file
  const excerpt = problem.source.slice(start, start + widest).replaceAll('\t', '→');
  const before = ' '.repeat(Math.min(problem.col - 1 - start, excerpt.length));
  const carets = '^'.repeat(Math.max(1, Math.min(problem.length, widest - before.length)));
  const margin = String(problem.line);
  return `${headline(problem)}\n  ${margin} | ${excerpt}\n  ${' '.repeat(margin.length)} | ${before}${carets}`;
}
