/**
 * The filters of the request log as somebody types them: `model:gpt-x status:error latency:>2s meta.tenant-id=acme "refund"`.
 * `:` and `=` mean the same. A leading `-` excludes. `key:*` is any value. Quotes hold blanks. All other words are searched for in
 * bodies. The id of a request, or its beginning, may stand alone.
 */
import { badFilter, FilterBuilder } from './query.ts';
import type { LogFilter } from './query.ts';
import { idAlone } from './record-id.ts';

interface Word {
  readonly text: string;
  /** A word that begins with a quote is never a filter, and its star is only a star. */
  readonly isQuoted: boolean;
}

/** A name and its separator. A bound is its own separator: `latency>2s`. */
const filterStart = /(-?)(meta\."(?:[^"\\]|\\.)*"|[\w-]+(?:\.[^\s:="<>]+)?)([:=]|(?=[<>]))/y;
const quotedWord = /"((?:[^"\\]|\\.)*)"/y;
const bareWord = /[^\s]+/y;

export function parseLogSearch(text: string): LogFilter {
  const builder = new FilterBuilder();
  const id = idAlone(text);
  if (id !== null) {
    builder.add('id', id);
    return builder.build();
  }
  const words: string[] = [];
  let at = 0;
  const read = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  const word = (): Word => {
    const inQuotes = read(quotedWord);
    if (inQuotes !== null) return { text: unescaped(inQuotes[1] ?? ''), isQuoted: true };
    if (text[at] === '"') throw badFilter('q', 'A quote is opened and not closed.');
    return { text: read(bareWord)?.[0] ?? '', isQuoted: false };
  };
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at++;
    if (at >= text.length) break;
    const start = read(filterStart);
    if (start === null) words.push(word().text);
    else addFilter(builder, { minus: start[1] ?? '', name: unquotedName(start[2] ?? ''), value: word() });
  }
  if (words.length > 0) builder.add('q', words.join(' '));
  return builder.build();
}

function addFilter(builder: FilterBuilder, { minus, name, value }: { minus: string; name: string; value: Word }): void {
  const isAny = value.text === '*' && !value.isQuoted;
  // "any value" is written as "not none"
  if (isAny) builder.add(minus === '' ? `-${name}` : name, '');
  else builder.add(minus + name, value.text);
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/gs, '$1');
const unquotedName = (name: string): string => (name.startsWith('meta."') ? `meta.${unescaped(name.slice('meta."'.length, -1))}` : name);
