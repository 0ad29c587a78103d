/**
 * POST /v1/embeddings: the door for texts that become vectors, in the form
 * of OpenAI. The pipeline does everything between parsing and encoding.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { withModelOfPath } from '../../../core/pipeline/door.ts';
import type { About, Door } from '../../../core/pipeline/door.ts';
import { encodeVectors } from './encode.ts';
import { parseEmbeddingRequest } from './parse.ts';

const about: About = { summary: 'Turn texts into vectors', body: 'EmbeddingsRequest', answer: { 'application/json': 'Embeddings' } };

export default definePlugin({
  name: 'endpoints/embeddings',
  summary: 'POST /v1/embeddings: texts as vectors',
  apply({ routes }) {
    const door: Omit<Door, 'path'> = { parse: parseEmbeddingRequest, encode: encodeVectors, encoder: neverStreams, about };
    for (const path of ['/v1/embeddings', '/embeddings']) routes.addDoor({ path, ...door });
    // the clients of Azure name the model in the path, below /openai
    routes.addDoor(withModelOfPath({ path: '/:host/deployments/:model/embeddings', ...door }));
  },
});

const neverStreams: Door['encoder'] = () => {
  throw new TypeError('embeddings have no stream');
};
