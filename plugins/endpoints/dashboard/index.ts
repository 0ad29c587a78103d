/**
 * /dashboard: the pages for operators. They are static modules without a build
 * step. Their data comes from the log API and from the views that this plugin adds.
 */
import { GatewayError } from '../../../core/errors.ts';
import { noLog } from '../../../core/log/store.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { mergedReloads, reloads } from '../../../core/host/reloads/history.ts';
import type { Reload } from '../../../core/host/reloads/history.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { EndpointRequest } from '../../../core/http/routes.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { assetHeaders, pageHeaders } from './page-headers.ts';
import { createProviderWatch, seenTogether } from './provider-watch.ts';
import type { Seen } from './provider-watch.ts';
import { createSignIn } from './sign-in.ts';
import { readStaticFiles, serveFile } from './static-files.ts';
import type { StaticFiles } from './static-files.ts';
import { configFileView, configView, providersView } from './views-config.ts';
import { conversationsView, conversationView } from './views-conversations.ts';
import { answersView, modelsView } from './views-models.ts';
import { requestView, typicalView } from './views-request.ts';
import { spendView } from './views-spend.ts';
import { breakdownView, logsView, overviewView } from './views.ts';
import type { Part, ViewRequest } from './views.ts';

export default definePlugin({
  name: 'endpoints/dashboard',
  summary: 'the dashboard at /dashboard: what happens, what it costs, and why',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, routes, config, clock, log, logger, signIns, state, peers }) {
    const watch = state('providers', createProviderWatch);
    let known: StaticFiles | null = null;
    const site = (): StaticFiles => (known ??= readStaticFiles());
    const loadedAt = clock();
    peers?.answer('seen', () => watch.all());
    const seen = async (): Promise<(provider: string) => Seen | null> => {
      const others = ((await peers?.ask('seen', null)) ?? []) as Record<string, Seen>[];
      return (provider) => others.reduce((sum, one) => seenTogether(sum, one[provider] ?? null), watch.of(provider));
    };
    hooks.attempted.tap((result) => watch.saw(result, clock()));
    const signIn = createSignIn({ config, signIns, logger });
    hooks.auth.tap((arrived) => signIn.caller(arrived));
    const below = ({ arrived, params }: EndpointRequest): Answer => {
      const [, version, asset] = /^assets\/([\w-]+)\/(.+)$/.exec(params['path'] ?? '') ?? [];
      if (asset === undefined) return page(site(), params['path']);
      const { files, version: own } = site();
      // safety: browsers keep a file for ever, so an address with another version must not return the present file
      const file = version === own ? files.get(asset) : undefined;
      if (file === undefined) {
        throw new GatewayError('unknown_url', `The dashboard has no file ${asset.slice(0, 100)}.`, {
          headers: { 'cache-control': 'no-store' },
        });
      }
      const answer = serveFile(file, arrived.headers);
      return { ...answer, headers: { ...assetHeaders, ...answer.headers } };
    };
    // the page has no data, so everybody may load it; each view refuses callers without access, and the page then shows the sign-in
    routes.add({ method: 'GET', path: '/dashboard', auth: 'none', title: 'Dashboard', about: aboutPage, handle: () => page(site()) });
    routes.add({ method: 'GET', path: '/dashboard/**:path', auth: 'none', about: aboutPage, handle: below });
    routes.add({
      method: 'POST',
      path: '/api/session',
      auth: 'none',
      bodyLimit: 4096,
      about: { ...aboutSession, summary: 'Sign a browser in', body: 'SignIn' },
      handle: signIn.begin,
    });
    routes.add({
      method: 'DELETE',
      path: '/api/session',
      auth: 'none',
      about: { ...aboutSession, summary: 'Sign a browser out' },
      handle: signIn.end,
    });

    const view = (path: string, answer: (asked: ViewRequest, request: EndpointRequest) => Promise<Answer>): void =>
      routes.add({
        method: 'GET',
        path,
        auth: 'admin',
        about: aboutView,
        async handle(request) {
          const reader = log.reader();
          if (reader === null) throw noLog();
          return await answer({ reader, params: request.query, now: clock() }, request);
        },
      });
    for (const [name, answer] of Object.entries(plainViews)) view(`/api/views/${name}`, async (asked) => confidential(await answer(asked)));
    view('/api/views/logs', (asked, { arrived: { signal } }) => inParts(logsView({ ...asked, signal })));
    view('/api/views/request/:id', async ({ reader }, { params }) =>
      confidential(await requestView(params['id'] ?? '', { reader, config })),
    );

    const described = (path: string, describe: (asked: { reader: LogReader | null; now: number }) => Promise<object>): void =>
      routes.add({
        method: 'GET',
        path,
        auth: 'admin',
        about: aboutView,
        handle: async () => confidential(await describe({ reader: log.reader(), now: clock() })),
      });
    described('/api/providers', async (asked) => await providersView(config, { ...asked, seen: await seen() }));
    described('/api/models', (asked) => modelsView(config, asked));
    peers?.answer('reloads', () => reloads());
    described('/api/config', async () =>
      configView(config, { loadedAt, reloads: mergedReloads([reloads(), ...(((await peers?.ask('reloads', null)) ?? []) as Reload[][])]) }),
    );
    routes.add({
      method: 'GET',
      path: '/api/config/file',
      auth: 'admin',
      about: aboutView,
      handle: async ({ query }) => confidential(await configFileView(config, query.get('name'))),
    });
  },
});

/** The page at a path below `/dashboard/`. `logs/<id>` is the page of one request; every other path is the name of its page. */
function page({ page: pageOf, scriptHash }: StaticFiles, path = 'overview'): Answer {
  return { headers: pageHeaders(scriptHash), body: pageOf(/^logs\/./.test(path) ? 'request' : path) };
}

const plainViews: Readonly<Record<string, (asked: ViewRequest) => Promise<object>>> = {
  overview: overviewView,
  breakdown: breakdownView,
  spend: spendView,
  conversations: conversationsView,
  conversation: conversationView,
  typical: typicalView,
  answers: answersView,
};

const aboutPage: About = { summary: 'The dashboard, a page for browsers', answer: { 'text/html': null, '*/*': null } };
const aboutSession = { answer: { 'application/json': 'SignedIn' } };
/** The pages and these answers change together. */
const aboutView: About = {
  summary: 'Data of the dashboard. It may change in any release: programs ask /api/logs, /api/stats and /api/series',
  answer: { 'application/json': { type: 'object' }, 'application/x-ndjson': null },
};

const confidential = (value: object): Answer => json(value, { headers: protective });

/** An answer that sends each part as a line of JSON as soon as the part is ready. */
async function inParts(parts: AsyncGenerator<Part, void>): Promise<Answer> {
  // the answer begins with the first part, so an error before that is still a normal error reply
  const first = (await parts.next()).value ?? { more: false };
  // most answers are whole at once, and those get an etag
  const body = first.more ? ReadableStream.from(linesOf(first, parts)) : `${JSON.stringify(first)}\n`;
  return { headers: { ...protective, 'content-type': 'application/x-ndjson' }, body };
}

async function* linesOf(first: object, rest: AsyncGenerator<object, void>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(first)}\n`);
  for await (const part of rest) yield Buffer.from(`${JSON.stringify(part)}\n`);
}
