/** GET /openapi.json: the endpoints of this installation, including those of your own plugins. It is made from `about` of each endpoint. */
import { definePlugin } from '../../../core/host/plugin.ts';
import { documentOf } from './document.ts';

export default definePlugin({
  name: 'endpoints/openapi',
  summary: 'GET /openapi.json: every endpoint of this installation as OpenAPI 3.1',
  apply({ routes, errorCodes, config: { server } }) {
    let text: Buffer | null = null;
    routes.add({
      method: 'GET',
      path: '/openapi.json',
      auth: 'none',
      about: { summary: 'This document', answer: { 'application/json': { type: 'object' } } },
      handle: () => ({
        headers: { 'content-type': 'application/json' },
        body: (text ??= Buffer.from(JSON.stringify(documentOf(routes.all(), { errorCodes, server })))),
      }),
    });
  },
});
