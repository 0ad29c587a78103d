/** The form of the playground, and the chat requests that it describes. What a field of the form does not cover is JSON under `more`. */
import { chatOf } from './snippets.js';

/**
 * The values of the form before somebody changes them. `earlier`: messages that go along as they are.
 * `images`: each with its address, which mostly is `data:`, and with its detail where it has one.
 */
export const emptyForm = {
  models: [''],
  system: '',
  earlier: /** @type {any[]} */ ([]),
  user: 'Hello! Explain in two sentences what you are.',
  images: /** @type {{ url: string, detail?: string }[]} */ ([]),
  effort: '',
  budget: '',
  maxTokens: '',
  temperature: '',
  stream: true,
  tools: '',
  schema: '',
  more: '',
  metadata: [['', '']],
};

/** @typedef {typeof emptyForm} Form */

/** The most models that are asked side by side. */
export const mostCompared = 3;

/** What a list of the form holds. @type {Record<string, (list: any[]) => boolean>} */
const lists = {
  models: (list) => list.length > 0 && list.length <= mostCompared && list.every((name) => typeof name === 'string'),
  images: (list) => list.every(isImage),
  metadata: (list) =>
    list.length > 0 && list.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string')),
  earlier: (list) => list.every((message) => typeof message === 'object' && message !== null && !Array.isArray(message)),
};

/** Whether the form can have this value in a field. @param {keyof Form} name @param {any} value */
export const isOfField = (name, value) =>
  Array.isArray(emptyForm[name]) ? Array.isArray(value) && (lists[name]?.(value) ?? false) : typeof value === typeof emptyForm[name];

/**
 * The value of a JSON field.
 * @param {string} text @param {string} name @param {'list' | 'object'} kind @returns {{ value?: any, problem?: string }}
 */
function jsonOf(text, name, kind) {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text);
    const fits = kind === 'list' ? Array.isArray(value) : typeof value === 'object' && value !== null && !Array.isArray(value);
    return fits ? { value } : { problem: `${name} must be a JSON ${kind}.` };
  } catch (error) {
    return { problem: `${name}: this is not valid JSON: ${/** @type {Error} */ (error).message}` };
  }
}

/** A whole `response_format` stays as it is, and a schema becomes one. */
const formatOf = (value) =>
  ['json_schema', 'json_object', 'text'].includes(value.type)
    ? value
    : { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: value } };

/** The message that the form asks with; null where nothing is written. @param {Form} form */
export function askedOf({ user, images }) {
  if (images.length > 0) {
    return {
      role: 'user',
      content: [
        ...(user.trim() === '' ? [] : [{ type: 'text', text: user }]),
        ...images.map((image) => ({ type: 'image_url', image_url: image })),
      ],
    };
  }
  return user.trim() === '' ? null : { role: 'user', content: user };
}

/** The messages before the first turn. @param {Form} form */
export const beforeOf = ({ system, earlier }) => [...(system.trim() === '' ? [] : [{ role: 'system', content: system }]), ...earlier];

/**
 * All of the request but its model and messages; `problem` says why it cannot be sent.
 * @param {Form} form @returns {{ settings: any, metadata: Record<string, string>, problem: string | null }}
 */
export function settingsOf({ effort, budget, maxTokens, temperature, stream, tools, schema, more, metadata }) {
  const parts = {
    tools: jsonOf(tools, 'Tools', 'list'),
    schema: jsonOf(schema, 'JSON schema', 'object'),
    more: jsonOf(more, 'More', 'object'),
  };
  const named = metadata.filter(([name]) => name.trim() !== '').map(([name, value]) => [name.trim(), value]);
  const odd = named.find(([name]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name));
  const settings = {
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...(budget !== '' ? { reasoning: { max_tokens: Number(budget) } } : effort !== '' && { reasoning_effort: effort }),
    ...(maxTokens !== '' && { max_completion_tokens: Number(maxTokens) }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(parts.tools.value !== undefined && { tools: parts.tools.value }),
    ...(parts.schema.value !== undefined && { response_format: formatOf(parts.schema.value) }),
    ...parts.more.value,
  };
  const problem =
    odd === undefined
      ? Object.values(parts).find(({ problem: one }) => one !== undefined)?.problem
      : `"${odd[0]}" is not a valid header name: use letters, digits and hyphens.`;
  return { settings, metadata: Object.fromEntries(named), problem: problem ?? null };
}

/** Whether the form can show it as an image. @param {any} image */
const isImage = (image) => typeof image?.url === 'string';

/** The text and the images of a message that the fields of the form can hold; null for any other message. @param {any} message */
export function fieldsOf(message) {
  if (message?.role !== 'user' || Object.keys(message).length !== 2) return null;
  const { content } = message;
  if (typeof content === 'string') return { user: content, images: [] };
  const [first, ...others] = content;
  const hasText = first?.type === 'text' && Object.keys(first).length === 2;
  const images = hasText ? others : content;
  const isPlain =
    images.length > 0 && images.every((part) => part.type === 'image_url' && isImage(part.image_url) && Object.keys(part).length === 2);
  return isPlain ? { user: hasText ? first.text : '', images: images.map((part) => part.image_url) } : null;
}

/** What a logged request of another door loses when it is sent as a chat request; null where that is nothing. @param {any} record */
export function lossOf({ request, path }) {
  const lost = new Set();
  chatOf(request, lost);
  return lost.size === 0
    ? null
    : `This request came through ${path}. From here it goes through /v1/chat/completions, without ${[...lost].join(', ')}.`;
}

const pretty = (value) => (value === undefined ? '' : JSON.stringify(value, null, 2));

/** The form that sends a logged request again. @param {any} request @param {Record<string, string>} metadata @returns {Form} */
export function formOf(request, metadata) {
  const {
    model,
    messages = [],
    stream,
    stream_options: _options,
    reasoning_effort: effort,
    reasoning,
    max_completion_tokens: maxTokens,
    temperature,
    tools,
    response_format: format,
    ...more
  } = chatOf(request);
  const [first] = messages;
  const hasSystem = first?.role === 'system' && typeof first.content === 'string' && Object.keys(first).length === 2;
  const rest = hasSystem ? messages.slice(1) : messages;
  const last = fieldsOf(rest.at(-1));
  const isBudget = Object.keys(reasoning ?? {}).join() === 'max_tokens';
  const others = { ...(!isBudget && reasoning !== undefined && { reasoning }), ...more };
  return {
    ...emptyForm,
    models: [model],
    system: hasSystem ? first.content : '',
    earlier: last === null ? rest : rest.slice(0, -1),
    ...(last ?? { user: '', images: [] }),
    effort: effort ?? '',
    budget: isBudget ? String(reasoning.max_tokens) : '',
    maxTokens: String(maxTokens ?? ''),
    temperature: String(temperature ?? ''),
    stream: stream === true,
    tools: pretty(tools),
    schema: pretty(format),
    more: pretty(Object.keys(others).length === 0 ? undefined : others),
    metadata: [...Object.entries(metadata ?? {}), ['', '']],
  };
}

/** Why a record cannot be sent again; null where it can. @param {any} record */
export function whyNot({ request, path }) {
  if (request === null) return 'The log does not have its text: bodies were off for this request, or are deleted by now.';
  return Array.isArray(request.messages) ? null : `It is not a chat request (${path}).`;
}
