/**
 * GET /v1/models and GET /v1/models/{id}: the catalogue in the form of the API. Callers need no key.
 *
 * The list has what can be asked now: models with a provider that is on, and of each the providers that are on; `include_unavailable`
 * adds the others. A routing policy with a name of its own, such as `auto`, is in the list as a model with the providers of all its
 * candidates, before the models. One model is found by its name whether it can be asked or not.
 *
 * A request with the header `anthropic-version` gets pages in the form of
 * the Messages API, by `limit`, `after_id`, `before_id` and `lifecycle`.
 */
import type { Model } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { EndpointRequest } from '../../../core/http/routes.ts';
import { didYouMean } from '../../../core/names.ts';
import { json } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { Catalogue } from './catalogue.ts';
import { lifecycleOf } from './lifecycle.ts';
import { isPaged, modelInfo, paged, pageOf, stagesOf } from './paged.ts';
import { policiesOf } from './policies.ts';
import { queryHelp, switchesOf } from './query.ts';
import { listingOf } from './record.ts';
import type { ModelPage } from './wire.ts';

const error = ['ErrorReply', 'MessagesError'];
const headers = { 'anthropic-version': 'With any value the answer is in the form of the Messages API.' };
const aboutList: About = {
  summary: 'The models, with what they can do and what they cost',
  query: queryHelp,
  headers,
  answer: { 'application/json': ['ModelList', 'ModelPage'] },
  error,
};
const aboutOne: About = { summary: 'One model', headers, answer: { 'application/json': ['ModelRecord', 'ModelInfo'] }, error };

export default definePlugin({
  name: 'endpoints/models',
  summary: 'GET /v1/models: the catalogue with capabilities and prices',
  apply({ routes, config, clock }) {
    const policies = policiesOf(config);
    const catalogue = new Catalogue(config, policies);
    const list = ({ arrived, query }: EndpointRequest): Answer => {
      if (isPaged(arrived)) return paged(arrived, () => pageAsked(query, catalogue, clock()));
      const shown = catalogue.shown(switchesOf(query), clock());
      return { headers: { 'content-type': 'application/json' }, body: catalogue.list(shown) };
    };
    const find = createFinder([...config.models, ...policies]);
    const one = ({ arrived, params }: EndpointRequest): Answer => {
      const id = params['id'] ?? '';
      if (isPaged(arrived)) return paged(arrived, () => modelInfo(find(id), clock()));
      const model = find(id);
      return json(listingOf(model, model.providers));
    };
    for (const path of ['/v1/models', '/models']) {
      routes.add({ method: 'GET', path, auth: 'none', about: aboutList, handle: list });
    }
    for (const path of ['/v1/models/**:id', '/models/**:id']) {
      routes.add({ method: 'GET', path, auth: 'none', about: aboutOne, handle: one });
    }
  },
});

/** The page that a request asks for. */
function pageAsked(query: URLSearchParams, catalogue: Catalogue, now: number): ModelPage {
  const stages = stagesOf(query);
  const asked = switchesOf(query);
  const shown = catalogue.shown({ ...asked, include_deactivated: asked.include_deactivated || stages.has('retired') }, now);
  const models = shown.map(({ entry: { model } }) => model);
  const wanted = models.filter((model) => stages.size === 0 || stages.has(lifecycleOf(model, now)));
  return pageOf(wanted, query, now);
}

/** Makes the function that finds a model by its name. It throws `model_not_found`. */
function createFinder(models: readonly Model[]): (name: string) => Model {
  const named = new Map(models.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));
  return (name) => {
    const model = named.get(name) ?? servedBy(name, named);
    if (model !== undefined) return model;
    const why = `The model "${name.slice(0, 100)}" does not exist or is not configured.${didYouMean(name, named.keys())}`;
    throw new GatewayError('model_not_found', why, { param: 'model' });
  };
}

/** The model of a name like `provider/model`; undefined where that provider does not serve it. */
function servedBy(name: string, named: ReadonlyMap<string, Model>): Model | undefined {
  const slash = name.indexOf('/');
  const model = slash < 0 ? undefined : named.get(name.slice(slash + 1));
  return model?.providers.some(({ providerId }) => providerId === name.slice(0, slash)) === true ? model : undefined;
}
