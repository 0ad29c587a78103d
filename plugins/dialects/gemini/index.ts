/** The dialect of Google's generateContent API, for Gemini models at AI Studio and on Vertex AI. */
import type { Dialect } from '../../../core/wire/dialect.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { toolNameBy } from '../../../core/names.ts';
import { isVertex, maybeVertexSettings, vertexAddress, vertexSettings } from '../families/vertex.ts';
import { google } from './identity.ts';
import { authorise } from './address.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { embedderOf } from './embeddings.ts';
import { encode } from './encode.ts';
import { decodeError } from './error.ts';
import { fetchesImage } from './parts.ts';

const studio = 'https://generativelanguage.googleapis.com/v1beta';

const dialectOf = (
  name: string,
  more: Pick<Dialect, 'baseUrl' | 'settings' | 'identities'> = { baseUrl: studio, settings: maybeVertexSettings },
): Dialect => ({
  name,
  fetchesImage: (url, { provider }) => fetchesImage(url, isVertex(provider)),
  // wire: any other name is a 400 "Invalid function name. Must start with a letter or an underscore" (kaitranntt/ccs#25, 2025-11)
  toolName: (name) => toolNameBy(/^[a-z_][\w.:-]{0,63}$/i, name),
  encode,
  authorise,
  probe: { path: '/models?pageSize=1' },
  decoder: createDecoder,
  decodeBody,
  embedder: embedderOf,
  decodeError,
  ...more,
});

export default definePlugin({
  name: 'dialects/gemini',
  summary: "Speaks generateContent to Google's Gemini models, at AI Studio and on Vertex AI.",
  dialects: [
    dialectOf('gemini'),
    dialectOf('google'),
    dialectOf('vertex', { baseUrl: vertexAddress, settings: vertexSettings, identities: { google } }),
  ],
  apply() {},
});
