/**
 * Content blocks of a user, of instructions and of tool results as parts. Fields that
 * only this format has are kept beside the part, for providers of the same format.
 */
import type { ContentPart, Native } from '../../../../core/chat.ts';
import { shortToolName } from '../../../../core/names.ts';
import { type Check, object, optional, text, wrongType } from '../../../../core/wire/checks.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../../../core/wire/fields.ts';

/** The mark that the prompt up to this block is to be cached. Other formats have the field too, so it stays at its place. */
interface Marked {
  readonly cache_control?: unknown;
}

/** The cache breakpoint of a block. */
export const markOf = ({ cache_control: mark }: Fields): Marked => (isFields(mark) ? { cache_control: mark } : {});

const ofPart = new Set(['type', 'cache_control']);

/** The fields of a block that other formats do not have. @param where the path of the field without its numbers, for `x-adjusted` */
export function nativeOf(where: string, given: Fields): { readonly native?: Native } {
  const fields = Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== null && value !== undefined && !ofPart.has(name)),
  );
  const names = Object.keys(fields);
  return names.length === 0 ? {} : { native: { fields, lost: names.map((name) => `${where}.${name}`) } };
}

/** A block that no other format has: a provider of another format is not asked. */
const onlyHere = (param: string, block: Fields, what: string): ContentPart => ({
  type: text(`${param}.type`, block['type']),
  ...markOf(block),
  native: {
    fields: withoutMark(block),
    isAll: true,
    needed: { param, message: `"${param}" is ${what}, which this model's provider does not take.` },
  },
});

export const withoutMark = (block: Fields): Fields =>
  Object.fromEntries(Object.entries(block).filter(([name]) => name !== 'cache_control'));

type PartReader = (param: string, block: Fields) => ContentPart;

/** A content block as a part. Blocks of types that are not known here go to providers of the same format as they are. */
export const part: Check<ContentPart> = (param, value) => {
  const block = object(param, value);
  const type = text(`${param}.type`, block['type']);
  const read = readers.get(type);
  return read === undefined ? onlyHere(param, block, `content of the type "${type}"`) : read(param, block);
};

const readers: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['text', textPart],
  ['image', imagePart],
  ['document', documentPart],
  ['search_result', searchPart],
  ['tool_reference', referencePart],
]);

function textPart(param: string, { text: words, ...more }: Fields): ContentPart {
  return { type: 'text', text: text(`${param}.text`, words), ...markOf(more), ...nativeOf('messages.content', more) };
}

function imagePart(param: string, block: Fields): ContentPart {
  const { source: given, ...more } = block;
  const url = addressIn(`${param}.source`, object(`${param}.source`, given));
  if (url === null) return onlyHere(param, block, 'an image that is a file of another provider');
  return { type: 'image_url', image_url: { url }, ...markOf(more), ...nativeOf('messages.content', more) };
}

/** The content of a source as a URL; null for a source of another kind. */
function addressIn(param: string, source: Fields): string | null {
  switch (text(`${param}.type`, source['type'])) {
    case 'base64':
      return `data:${text(`${param}.media_type`, source['media_type'])};base64,${text(`${param}.data`, source['data'])}`;
    case 'url':
      return text(`${param}.url`, source['url']);
    default:
      return null;
  }
}

/** A document as a part: a document with text becomes a text part, which every provider takes; a file stays a file. */
function documentPart(param: string, block: Fields): ContentPart {
  const { source: given, ...about } = block;
  const source = object(`${param}.source`, given);
  const lost = nativeOf('messages.content', about).native?.lost ?? [];
  const title = optional(`${param}.title`, block['title'], text);
  if (source['type'] === 'text') {
    const { data, ...kind } = source;
    return {
      type: 'text',
      text: text(`${param}.source.data`, data),
      ...markOf(block),
      native: { fields: { ...withoutMark(about), source: kind }, lost },
    };
  }
  if (source['type'] === 'content') {
    const words = wordsIn(`${param}.source.content`, source['content']);
    return words === null
      ? onlyHere(param, block, 'a document with images')
      : { type: 'text', text: words, ...markOf(block), native: { fields: withoutMark(block), lost } };
  }
  const url = addressIn(`${param}.source`, source);
  if (url === null) return onlyHere(param, block, 'a document that is a file of another provider');
  return {
    type: 'file',
    file: { file_data: url, filename: title ?? 'document.pdf' },
    ...markOf(block),
    native: { fields: withoutMark(about), lost: lost.filter((name) => !name.endsWith('.title')) },
  };
}

function searchPart(param: string, block: Fields): ContentPart {
  const words = wordsIn(`${param}.content`, block['content']);
  if (words === null) return onlyHere(param, block, 'a search result that is not text');
  const heading = [block['title'], block['source']].flatMap((line) => textOf(line) ?? []);
  return {
    type: 'text',
    text: [...heading, words].join('\n'),
    ...markOf(block),
    native: { fields: withoutMark(block), lost: fieldsOf(block['citations'])['enabled'] === true ? ['messages.content.citations'] : [] },
  };
}

/**
 * wire: a block with the name of a tool that a search found. The caller declares the tool
 * itself, and Claude Code 2.1.332 searches with every model (Anthropic: Tool search)
 */
function referencePart(param: string, block: Fields): ContentPart {
  return {
    type: 'text',
    text: `The tool "${shortToolName(text(`${param}.tool_name`, block['tool_name']))}" can be called now.`,
    ...markOf(block),
    native: { fields: withoutMark(block) },
  };
}

/** The text of a content that has only text; null for any other content. */
function wordsIn(param: string, content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw wrongType(param, 'a string or an array of blocks', content);
  const blocks = listOf(content).map(fieldsOf);
  return blocks.every(({ type, text: words }) => type === 'text' && typeof words === 'string')
    ? blocks.map((block) => block['text']).join('\n\n')
    : null;
}

/** The content of a message: a text, or a list of blocks. */
export function contentOf(param: string, content: unknown): string | readonly ContentPart[] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw wrongType(param, 'a string or an array of blocks', content);
  return shortened((content as unknown[]).map((block, at) => part(`${param}[${at}]`, block)));
}

/** A single text is written as a string: some servers take no list. */
export function shortened(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' && Object.keys(first).length === 2 ? (first.text ?? '') : parts;
}
