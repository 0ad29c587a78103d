/**
 * The page and its files over HTTP. They hold no data, so everybody may load them. Their headers
 * allow no content from other sites, no markup made from texts, and no frames around the page.
 */
import { GatewayError } from '../../../core/errors.ts';
import type { EndpointRequest, Routes } from '../../../core/http/routes.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { readStaticFiles, serveFile } from './static-files.ts';
import type { StaticFiles } from './static-files.ts';

const about: About = { summary: 'The dashboard, a page for browsers', answer: { 'text/html': null, '*/*': null } };

export function addSite(routes: Routes): void {
  let known: StaticFiles | null = null;
  const site = (): StaticFiles => (known ??= readStaticFiles());
  routes.add({ method: 'GET', path: '/dashboard', auth: 'none', title: 'Dashboard', about, handle: () => page(site()) });
  routes.add({ method: 'GET', path: '/dashboard/**:path', auth: 'none', about, handle: (request) => below(site(), request) });
}

/** What is at a path below `/dashboard/`: a file, or a page. */
function below(site: StaticFiles, { arrived, params }: EndpointRequest): Answer {
  const [, version, path] = /^assets\/([\w-]+)\/(.+)$/.exec(params['path'] ?? '') ?? [];
  if (path === undefined) return page(site, params['path']);
  // safety: browsers keep a file for ever, so an address with another version must not return the present file
  const file = version === site.version ? site.files.get(path) : undefined;
  if (file === undefined) {
    const headers = { 'cache-control': 'no-store' };
    throw new GatewayError('unknown_url', `The dashboard has no file ${path.slice(0, 100)}.`, { headers });
  }
  const answer = serveFile(file, arrived.headers);
  return { ...answer, headers: { ...common, ...answer.headers } };
}

/** The page at a path below `/dashboard/`. `logs/<id>` is the page of one request; every other path is the name of its page. */
function page({ page: pageOf, scriptHash }: StaticFiles, path = 'overview'): Answer {
  return { headers: pageHeaders(scriptHash), body: pageOf(/^logs\/./.test(path) ? 'request' : path) };
}

/** The headers of every file, and of the page. */
const common = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** The headers of a page. `scriptHash` is the hash of the import map, the only script inside the page. */
function pageHeaders(scriptHash: string): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `'self' '${scriptHash}'`,
    'style-src': "'self'",
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
    // safety: no library can turn a string into markup or code
    'require-trusted-types-for': "'script'",
  };
  return {
    ...common,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'x-frame-options': 'DENY',
  };
}
