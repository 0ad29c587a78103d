/** The Responses API: OpenAI's own, and by a mapping's `dialect` that of Azure, xAI and OpenRouter. */
import { definePlugin } from '../../../core/host/plugin.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { encode } from './encode.ts';
import { decodeError } from './error.ts';

export default definePlugin({
  name: 'dialects/openai-responses',
  summary: 'Speaks the Responses API, where OpenAI shows summaries of its reasoning and takes encrypted reasoning back.',
  schema: { type: 'object', properties: {}, additionalProperties: false },
  dialects: [
    {
      name: 'openai-responses',
      baseUrl: 'https://api.openai.com/v1',
      encode,
      authorise: ({ apiKey }): Readonly<Record<string, string>> => (apiKey === null ? {} : { authorization: `Bearer ${apiKey.reveal()}` }),
      decoder: createDecoder,
      decodeBody,
      decodeError,
    },
  ],
  apply() {},
});
