/** The dialect of Anthropic's Messages API, which other servers speak too. */
import { definePlugin } from '../../../core/host/plugin.ts';
import { toolNameBy } from '../../../core/names.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { authorise, encode } from './encode.ts';
import { decodeError } from './error.ts';
import { form } from './form.ts';
import { isVertex, maybeVertexSettings } from '../families/vertex.ts';

export default definePlugin({
  name: 'dialects/anthropic',
  summary: 'Speaks the Messages API to Anthropic, and to servers that took over that API.',
  // wire: Vertex AI answers 400 "URL sources are not supported" (BerriAI/litellm#23016, 2026-03), so the gateway fetches images for it
  dialects: [
    {
      name: 'anthropic',
      form,
      counts: true,
      baseUrl: 'https://api.anthropic.com/v1',
      settings: maybeVertexSettings,
      fetchesImage: (_, { provider }) => !isVertex(provider),
      // wire: a name must match `^[a-zA-Z0-9_-]{1,128}$` (Anthropic: error text of `tools.0.custom.name`)
      toolName: (name) => toolNameBy(/^[\w-]{1,128}$/, name),
      encode,
      authorise,
      probe: { path: '/models?limit=1', headers: { 'anthropic-version': '2023-06-01' } },
      decoder: createDecoder,
      decodeBody,
      decodeError,
    },
  ],
  apply() {},
});
