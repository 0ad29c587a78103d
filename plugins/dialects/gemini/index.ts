/** The dialect of Google's generateContent API, for Gemini models at AI Studio and on Vertex AI. */
import type { Dialect } from '../../../core/wire/dialect.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { authorise, settings } from './address.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { embedderOf } from './embeddings.ts';
import { encode } from './encode.ts';
import { decodeError } from './error.ts';

const dialectOf = (name: string): Dialect => ({
  name,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  settings,
  encode,
  authorise,
  decoder: createDecoder,
  decodeBody,
  embedder: embedderOf,
  decodeError,
});

export default definePlugin({
  name: 'dialects/gemini',
  summary: "Speaks generateContent to Google's Gemini models, at AI Studio and on Vertex AI.",
  schema: { type: 'object', properties: {}, additionalProperties: false },
  dialects: ['gemini', 'google'].map(dialectOf),
  apply() {},
});
