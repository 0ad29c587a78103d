/** The dialect of Amazon Bedrock's Converse API, one wire format for the models of many vendors. */
import type { Dialect } from '../../../core/wire/dialect.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { toolNameBy } from '../../../core/names.ts';
import { aws } from './identity.ts';
import { createDecoder, decodeBody } from './decode.ts';
import { embedderOf } from './embeddings.ts';
import { encode } from './encode.ts';
import { decodeError } from './error.ts';
import { frames } from './frames.ts';
import { modelClassNamed } from './models.ts';
import { authorise, defaultRegion, sign } from './sign.ts';

const bedrock: Dialect = {
  name: 'bedrock',
  baseUrl: `https://bedrock-runtime.{region:-${defaultRegion}}.amazonaws.com`,
  settings: { region: 'plain', access_key_id: 'secret', secret_access_key: 'secret', session_token: 'secret' },
  identities: { aws },
  // wire: Converse takes bytes or an object of S3, and no address (Amazon Bedrock: ImageSource)
  fetchesImage: () => false,
  // wire: a name has at most 64 letters, digits, `_` and `-` (Amazon Bedrock: ToolSpecification), in the history too
  toolName: (name) => toolNameBy(/^[\w-]{1,64}$/, name),
  encode,
  authorise,
  sign,
  frames,
  takesBudget: ({ externalId, id }) => modelClassNamed(externalId, id).family === 'claude',
  decoder: createDecoder,
  decodeBody,
  embedder: embedderOf,
  decodeError,
};

export default definePlugin({
  name: 'dialects/bedrock',
  summary:
    'Speaks the Converse API to Amazon Bedrock, with a Bedrock API key, or signed with access keys or by the identity of the machine.',
  dialects: [bedrock],
  apply() {},
});
