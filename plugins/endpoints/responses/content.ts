/** The content of messages and of tool results: the parts of this API as parts of the chat completions API. */
import type { ContentPart, Native } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { type Check, list, optional, text, wrongType } from '../../../core/wire/checks.ts';
import { fields, someFields, without } from './checks.ts';

/** A content in the form of `core/chat.ts`: a text stays a text. */
export const content: Check<string | ContentPart[]> = (param, value) => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value);
  return list(param, value).map((item, at) => part(`${param}[${at}]`, item));
};

const part: Check<ContentPart> = (param, value) => {
  const given = fields(param, value);
  const type = text(`${param}.type`, given['type']);
  return readers.get(type)?.(param, given) ?? unknownPart(param, given, type);
};

type Reader = (param: string, given: Fields) => ContentPart | null;

const said: Reader = (param, part) => {
  // an answer that a client sends back has an empty list of annotations in each text
  const { annotations } = part;
  const own = without(part, 'type', 'text', 'logprobs', ...(Array.isArray(annotations) && annotations.length > 0 ? [] : ['annotations']));
  return { type: 'text', text: text(`${param}.text`, part['text']), ...nativeOf(own) };
};

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['input_text', said],
  ['output_text', said],
  ['text', said],
  [
    'refusal',
    (param, part) => ({
      type: 'refusal',
      refusal: text(`${param}.refusal`, part['refusal']),
      ...nativeOf(without(part, 'type', 'refusal')),
    }),
  ],
  ['input_image', image],
  ['input_file', file],
  [
    'input_audio',
    (_, part) => ({ type: 'input_audio', input_audio: part['input_audio'], ...nativeOf(without(part, 'type', 'input_audio')) }),
  ],
]);

function image(param: string, part: Fields): ContentPart | null {
  const { image_url: url, detail } = part;
  if (url === undefined) return null;
  return {
    type: 'image_url',
    image_url: { url: text(`${param}.image_url`, url), ...(detail !== undefined && { detail }) },
    ...nativeOf(without(part, 'type', 'image_url', 'detail')),
  };
}

function file(param: string, part: Fields): ContentPart | null {
  const { file_data: data, file_url: url, file_id: id, filename } = part;
  const name = optional(`${param}.filename`, filename, text);
  const given = optional(`${param}.file_data`, data, text) ?? optional(`${param}.file_url`, url, text);
  const own = nativeOf(without(part, 'type', 'file_data', 'file_url', 'file_id', 'filename'));
  if (given !== null) return { type: 'file', file: { ...(name !== null && { filename: name }), file_data: given }, ...own };
  return id === undefined ? null : { type: 'file', file: { file_id: text(`${param}.file_id`, id) }, ...own };
}

/** Fields of a part that the parts of `core/chat.ts` do not have. */
function nativeOf(more: Fields): { native?: Native } {
  const own = someFields(more);
  return own === undefined
    ? {}
    : {
        native: {
          fields: own,
          lost: Object.keys(own)
            .filter((field) => field !== 'annotations')
            .map((field) => `input.content.${field}`),
        },
      };
}

/** A part that only this API knows: a provider of another API is not asked. */
const unknownPart = (param: string, given: Fields, type: string): ContentPart => ({
  type,
  native: {
    fields: given,
    isAll: true,
    needed: {
      param: `${param}.type`,
      message: `No provider of this model takes a content part of the type "${type.slice(0, 64)}" with these fields.`,
    },
  },
});
