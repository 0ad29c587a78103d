/** The fixes for faults of YAML, because the reader's messages use its own terms. */
import type { Alias, Document, Node, YAMLError } from 'yaml';
import type { Range } from '../json.ts';
import { keyText, mergeKey, targetOf } from '../source.ts';
import { yaml } from './parser.ts';

/** Pieces of the reader's messages, and what to write. */
const fixes: readonly (readonly [piece: RegExp, fix: string])[] = [
  [/^Tabs are/, 'write spaces'],
  [/^Implicit (?:map )?keys/, 'write it as "name: value", with a space after the colon'],
  [/^Nested mappings/, 'put a value with ": " in it in quotes, and begin the lines below in the column of their neighbours'],
  [/^Block collections are not allowed within/, 'put a value with ": " in it in quotes'],
  [/^Flow (?:map|sequence)|^Expected flow/, 'close the { or [ above'],
  [/^Missing , between/, 'write a comma'],
  [/must start at the same column|insufficiently indented|^Sequence item without/, 'begin it in the column of its neighbours'],
  [/^Block scalar header/, 'put a value that begins with > or | in quotes'],
  [/^Invalid escape/, 'write \\\\ for a backslash, or use single quotes'],
  [
    /^Unresolved tag|^Plain value cannot start|[Aa]lias|^Unexpected|^Anchor|^A node can have/,
    'put a value that begins with a special character, such as * or !, in quotes',
  ],
];

const unclosed = /^Missing closing ["']quote/;

/**
 * The place of a fault. For a quote that is not closed, the reader reports where
 * the text ended, which may be the end of the file; this is where the quote begins.
 */
export function rangeOf({ message, pos }: Pick<YAMLError, 'message' | 'pos'>, document: Document): Range {
  if (!unclosed.test(message)) return pos;
  let begin = pos[0];
  yaml().visit(document, {
    Scalar: (_, { type, range }) =>
      void (type?.startsWith('QUOTE_') === true && range && range[0] < pos[0] && range[2] >= pos[0] && (begin = range[0])),
  });
  return [begin, begin + 1];
}

/** The fault in words, and what to write instead; null where nothing can be proposed. */
export function inWords({ code, message }: Pick<YAMLError, 'code' | 'message'>): { readonly message: string; readonly fix: string | null } {
  if (code === 'DUPLICATE_KEY') return { message: 'this key is in the same map twice', fix: 'remove one of them' };
  if (code === 'MULTIPLE_DOCS') return { message: 'not valid YAML: a second document begins here', fix: 'remove the line ---' };
  if (unclosed.test(message)) {
    return { message: 'not valid YAML: this quote is not closed', fix: 'end the text with the quote that it begins with' };
  }
  if (message.startsWith('Maximum call stack')) {
    return { message: 'not valid YAML: the values from here on are nested too deeply', fix: 'a { or [ may be written too often' };
  }
  return { message: `not valid YAML: ${message}`, fix: fixes.find(([piece]) => piece.test(message))?.[1] ?? null };
}

interface Fault {
  readonly range: Range;
  readonly message: string;
  readonly fix: string;
}

/** The marks that Git writes around two versions, and indentation with blanks that a chat or a web page puts in the place of spaces. */
const strangeLines = /^(?:(?<mark>(?:<{7}|\|{7}|={7}|>{7})(?=[ \r]|$).*)| *(?<blank>[\u00a0\u2000-\u200b\u202f\u3000]+))/gm;

/** Lines that are the reason for all other faults of the file. The reader's own messages about them would lead astray. */
export const faultyLines = (text: string): readonly Fault[] =>
  Array.from(text.matchAll(strangeLines), ({ 0: { length }, index, groups }) => {
    const range: Range = [index, index + length];
    if (groups?.['mark'] !== undefined) {
      return {
        range,
        message: 'not valid YAML: this line is a mark of a merge that is not finished',
        fix: 'keep one of the two versions, and remove the marks',
      };
    }
    const code = (groups?.['blank'] ?? '').charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return { range, message: `not valid YAML: this line begins with another character than a space, U+${code}`, fix: 'write spaces' };
  });

/** The aliases that have no value, or one of the wrong kind: the reader reports that there is one, but not its place. */
export function brokenAliases(document: Document): readonly Fault[] {
  const { isMap, isSeq, visit } = yaml();
  const broken: Fault[] = [];
  const add = ({ range }: Node, message: string, fix: string): void =>
    void (range && broken.push({ range: [range[0], range[1]], message: `not valid YAML: ${message}`, fix }));
  visit(document, {
    Alias(_, alias: Alias, ancestors) {
      const value = targetOf(document, alias);
      if (value === undefined) {
        add(
          alias,
          'this alias has no anchor above it',
          'write & and the same name before the value that it names, or put a text that begins with * in quotes',
        );
      } else if (isMerged(ancestors) && !isMap(value) && !isSeq(value)) {
        add(alias, '<< takes the fields of a map, and this is the alias of something else', 'write the alias of a map');
      }
    },
  });
  return broken;
}

/** The aliases that are inside the value that they name: such a value would have no end. */
export function endlessAliases(document: Document): readonly Fault[] {
  const endless: Fault[] = [];
  yaml().visit(document, {
    Alias(_, alias: Alias, ancestors) {
      if (alias.range && ancestors.includes(targetOf(document, alias) as Node)) {
        endless.push({
          range: [alias.range[0], alias.range[1]],
          message: 'not valid YAML: this alias is inside the value that it names',
          fix: 'write the value out',
        });
      }
    },
  });
  return endless;
}

/** Whether a value stands after a merge key, by itself or in a list. */
function isMerged(above: readonly unknown[]): boolean {
  const { isPair, isSeq } = yaml();
  const holder = above.at(isSeq(above.at(-1)) ? -2 : -1);
  return isPair(holder) && keyText(holder.key) === mergeKey;
}
