/** The dialect of OpenAI's Responses API. A mapping of Azure, xAI or OpenRouter uses it if it names this dialect. */
import { definePlugin } from '../../../core/host/plugin.ts';
import { plainToolName } from '../families/openai-models.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { encode } from './encode.ts';
import { decodeError } from './error.ts';
import { habitsAt } from './habits.ts';

export default definePlugin({
  name: 'dialects/openai-responses',
  summary: 'Speaks the Responses API, where OpenAI shows summaries of its reasoning and takes encrypted reasoning back.',
  dialects: [
    {
      name: 'openai-responses',
      form: 'responses',
      baseUrl: 'https://api.openai.com/v1',
      toolName: plainToolName,
      encode,
      authorise: ({ apiKey }): Readonly<Record<string, string>> => (apiKey === null ? {} : { authorization: `Bearer ${apiKey.reveal()}` }),
      takesBudget: ({ vendor }) => habitsAt(vendor).takesBudget,
      decoder: createDecoder,
      decodeBody,
      decodeError,
    },
  ],
  apply() {},
});
