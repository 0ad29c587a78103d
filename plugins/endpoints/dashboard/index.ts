/** /dashboard: the page for operators. Static modules, no build; all data comes from /api. */
import { GatewayError } from '../../../core/errors.ts';
import { definePlugin } from '../../../core/plugin.ts';
import type { Answer, EndpointRequest } from '../../../core/routes.ts';
import { assetHeaders, pageHeaders } from './page-headers.ts';
import { readStaticFiles, serveFile } from './static-files.ts';
import type { StaticFiles } from './static-files.ts';

export default definePlugin({
  name: 'endpoints/dashboard',
  summary: 'the dashboard at /dashboard: what happens, what it costs, and why',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes }) {
    let known: StaticFiles | null = null;
    const site = (): StaticFiles => (known ??= readStaticFiles());
    const page = (): Answer => ({ headers: pageHeaders(site().scriptHash), body: site().page });
    const below = ({ arrived, params }: EndpointRequest): Answer => {
      const path = decodeURIComponent(params['path'] ?? '');
      const asset = /^assets\/[\w-]+\/(.+)$/.exec(path)?.[1];
      if (asset === undefined) return page();
      const file = site().files.get(asset);
      if (file === undefined) throw new GatewayError('unknown_url', `The dashboard has no file ${asset.slice(0, 100)}.`);
      const answer = serveFile(file, arrived.headers);
      return { ...answer, headers: { ...assetHeaders, ...answer.headers } };
    };
    routes.add({ method: 'GET', path: '/dashboard', handle: page });
    routes.add({ method: 'GET', path: '/dashboard/**:path', handle: below });
  },
});
