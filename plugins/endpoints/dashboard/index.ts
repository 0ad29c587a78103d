/**
 * /dashboard: the pages for operators. They are static modules without a build
 * step. Their data comes from the log API and from the views that this plugin adds.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { mergedReloads, reloads } from '../../../core/host/reloads/history.ts';
import type { Reload } from '../../../core/host/reloads/history.ts';
import type { EndpointRequest } from '../../../core/http/routes.ts';
import { noLog } from '../../../core/log/store.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { ProviderWatch, seenByAll } from './provider-watch.ts';
import { addSession, createSignIn } from './sign-in.ts';
import { addSite } from './site.ts';
import { configFileView, configView, providersView } from './views-config.ts';
import type { UseOptions } from './views-config.ts';
import { conversationsView, conversationView } from './views-conversations.ts';
import { answersView, modelsView } from './views-models.ts';
import { requestView, typicalView } from './views-request.ts';
import { spendView } from './views-spend.ts';
import { breakdownView, logsView, overviewView, readerFor } from './views.ts';
import type { Part, ViewRequest } from './views.ts';

export default definePlugin({
  name: 'endpoints/dashboard',
  summary: 'the dashboard at /dashboard: what happens, what it costs, and why',
  apply(gateway) {
    const { hooks, routes, config, clock, logger, signIns, state } = gateway;
    const watch = state('providers', () => new ProviderWatch());
    hooks.attempted.tap((result) => watch.saw(result, clock()));
    const signIn = createSignIn({ config, signIns, logger });
    hooks.auth.tap((arrived) => signIn.caller(arrived));
    addSite(routes);
    addSession(routes, signIn);
    // each view refuses callers without access, and the page then shows the sign-in
    addLogViews(gateway);
    addConfigViews(gateway, watch);
  },
});

/** The views that need the log. */
function addLogViews({ routes, config, clock, log }: Gateway): void {
  const view = (path: string, answer: (asked: ViewRequest, request: EndpointRequest) => Promise<Answer>): void =>
    routes.add({
      method: 'GET',
      path,
      auth: 'admin',
      about: aboutView,
      async handle(request) {
        const reader = log.reader();
        if (reader === null) throw noLog();
        return await answer({ reader: readerFor(reader, request.arrived.signal), params: request.query, now: clock() }, request);
      },
    });
  for (const [name, answer] of Object.entries(plainViews)) view(`/api/views/${name}`, async (asked) => confidential(await answer(asked)));
  view('/api/views/logs', async (asked) => inParts(logsView(asked)));
  view('/api/views/request/:id', async ({ reader }, { params }) => confidential(await requestView(params['id'] ?? '', { reader, config })));
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

/** The views of the config. They show the use of each part where there is a log. */
function addConfigViews({ routes, config, clock, log, peers }: Gateway, watch: ProviderWatch): void {
  const view = (path: string, describe: (asked: UseOptions & { readonly query: URLSearchParams }) => Promise<object>): void =>
    routes.add({
      method: 'GET',
      path,
      auth: 'admin',
      about: aboutView,
      async handle({ arrived, query }) {
        const reader = log.reader();
        return confidential(await describe({ reader: reader && readerFor(reader, arrived.signal), now: clock(), query }));
      },
    });
  peers?.answer('seen', () => watch.all());
  view('/api/providers', async (asked) => await providersView(config, { ...asked, seen: await seenByAll(watch, peers) }));
  view('/api/models', (asked) => modelsView(config, asked));
  const loadedAt = clock();
  peers?.answer('reloads', () => reloads());
  view('/api/config', async () => {
    const others = ((await peers?.ask('reloads', null)) ?? []) as Reload[][];
    return configView(config, { loadedAt, reloads: mergedReloads([reloads(), ...others]) });
  });
  view('/api/config/file', ({ query }) => configFileView(config, query.get('name')));
}

/** All views have this description. It gives no fields, because the answer of a view changes together with its page. */
const aboutView: About = {
  summary: 'Data of the dashboard. It may change in any release: programs ask /api/logs, /api/stats and /api/series',
  answer: { 'application/json': { type: 'object' }, 'application/x-ndjson': null },
};

const confidential = (value: object): Answer => json(value, { headers: protective });

/** An answer that sends each part as a line of JSON as soon as the part is ready. */
async function inParts(parts: AsyncGenerator<Part, void>): Promise<Answer> {
  // the answer begins with the first part, so an error before that is still a normal error reply
  const first = (await parts.next()).value ?? { more: false };
  // most answers have one part: such an answer is sent as a text, because only a text gets an etag
  const body = first.more ? ReadableStream.from(linesOf(first, parts)) : `${JSON.stringify(first)}\n`;
  return { headers: { ...protective, 'content-type': 'application/x-ndjson' }, body };
}

async function* linesOf(first: object, rest: AsyncGenerator<object, void>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(first)}\n`);
  for await (const part of rest) yield Buffer.from(`${JSON.stringify(part)}\n`);
}
