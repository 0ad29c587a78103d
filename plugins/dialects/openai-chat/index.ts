/** The dialects of the chat completions API: one for each vendor that differs. */
import type { Dialect } from '../../../core/wire/dialect.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { authorise, encode } from './encode.ts';
import { embedderOf } from './embeddings.ts';
import { decodeError } from './error.ts';
import { habitsNamed, type Vendor } from './habits.ts';
import { vendors } from './presets.ts';
import { plainToolName } from '../families/openai-models.ts';

const dialectOf = (vendor: Vendor): Dialect => ({
  name: vendor.name,
  baseUrl: vendor.baseUrl,
  keyless: vendor.keyless ?? false,
  settings: Object.fromEntries(Object.values(vendor.query ?? {}).map((setting) => [setting, 'plain'])),
  ...(vendor.identities !== undefined && { identities: vendor.identities }),
  ...(vendor.plainNames === true && { toolName: plainToolName }),
  encode: (request, target) => encode(vendor, request, target),
  authorise: (provider) => authorise(vendor, provider),
  takesBudget: ({ externalId, id }) => habitsNamed(vendor, externalId, id).budget !== null,
  decoder: (target) => createDecoder(vendor, target),
  decodeBody: (body, target) => decodeBody(vendor, body, target),
  embedder: (target) => embedderOf(vendor, target),
  decodeError: (error, target) => decodeError(error, target, vendor),
});

export default definePlugin({
  name: 'dialects/openai-chat',
  summary: 'Speaks chat completions to OpenAI, Azure and the many vendors and servers that took over that API.',
  dialects: vendors.map(dialectOf),
  apply() {},
});
