/**
 * POST /v1/responses: the door that speaks the Responses API, and GET and DELETE of the responses that are kept. This plugin reads the
 * caller's body and writes the answer; the pipeline does everything between the two.
 */
import type { ChatRequest } from '../../../core/chat.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { keepsNoBodies } from '../../../core/pipeline/context.ts';
import type { Described } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { json } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { EndpointRequest } from '../../../core/http/routes.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { absentUnder } from './absent.ts';
import { unsupported } from './checks.ts';
import { createEncoder, encodeReply } from './encode.ts';
import { inputItems, pageOf } from './input.ts';
import { cannotStore, createKeptResponses, type KeptResponse, type KeptResponses, lookUp, type Owner } from './kept.ts';
import { form, keptOf, parseResponseRequest, type Unread, withItems } from './parse.ts';
import type { DeletedResponse } from './wire.ts';

const about: About = {
  summary: 'Answer in the form of the Responses API',
  body: 'ResponsesRequest',
  answer: { 'application/json': 'ResponseObject', 'text/event-stream': 'ResponsesEvent' },
};
const aboutKept: About = { summary: 'A response that is kept', answer: { 'application/json': 'ResponseObject' } };
const aboutInput: About = {
  summary: 'What a response that is kept was asked, as items',
  query: {
    order: 'desc, the newest item first, or asc.',
    limit: 'Items on a page, from 1 to 100; 20 where absent.',
    after: 'The id of the item before the page.',
    include: 'reasoning.encrypted_content: reasoning items with their state. It may be given more than once, also as `include[]`.',
  },
  answer: { 'application/json': 'InputItemPage' },
};
const aboutDeleted: About = { summary: 'Delete a response that is kept', answer: { 'application/json': 'DeletedResponse' } };

export default definePlugin({
  name: 'endpoints/responses',
  summary: 'POST /v1/responses, plain and streamed; GET and DELETE of responses that are kept',
  apply({ routes, hooks, log, clock }) {
    const kept = createKeptResponses({ readerOf: () => log.reader(), clock });
    /** The references of a request, from its parsing until they are looked up. */
    const unread = new WeakMap<ChatRequest, Unread>();
    const parse = (body: unknown): ChatRequest => {
      const { request, unread: refers } = parseResponseRequest(body);
      if (refers !== null) unread.set(request, refers);
      return request;
    };
    const complete = async (request: ChatRequest, context: Described): Promise<ChatRequest> => {
      const refers = unread.get(request);
      const looked = refers === undefined ? null : await lookUp(refers, context.principal, kept);
      const whole = looked === null ? request : withItems(request, looked.before, looked.items);
      return { ...whole, door: { ...keptOf(request), store: await isStored(request, context, kept) } };
    };
    // before all other plugins, so that they see the whole conversation. cost: requests of other doors wait for no promise
    hooks.normalise.tap({ stage: EARLY - 1 }, (request, context) => (request.form === form ? complete(request, context) : undefined));
    // the clients of Azure ask below /openai
    for (const prefix of ['/v1', '', '/:host']) {
      routes.addDoor({ path: `${prefix}/responses`, parse, encoder: createEncoder, encode: encodeReply, about });
      for (const endpoint of absentUnder(prefix)) routes.add(endpoint);
      routes.add({
        method: 'GET',
        path: `${prefix}/responses/:id`,
        about: aboutKept,
        handle: async (request) => await show(request, kept),
      });
      routes.add({
        method: 'GET',
        path: `${prefix}/responses/:id/input_items`,
        about: aboutInput,
        handle: async (request) => await showInput(request, kept),
      });
      routes.add({
        method: 'DELETE',
        path: `${prefix}/responses/:id`,
        about: aboutDeleted,
        handle: async (request) => await remove(request, kept),
      });
    }
  },
});

type Asking = Pick<Described, 'headers' | 'principal'>;

/**
 * Whether the response is stored: unless the caller says no, or the log
 * keeps no body. Throws where the caller says yes and the log keeps no body.
 */
async function isStored(request: ChatRequest, asking: Asking, kept: KeptResponses): Promise<boolean> {
  const { store } = keptOf(request);
  if (store === false) return false;
  const isPossible = !keepsNoBodies(asking) && (await kept.keepsBodies());
  if (store === true && !isPossible) throw cannotStore();
  return isPossible;
}

const nobody: Owner = { key: null };
const ownerIn = ({ principal }: EndpointRequest): Owner => principal ?? nobody;
const idIn = ({ params }: EndpointRequest): string => params['id'] ?? '';

async function keptIn(request: EndpointRequest, kept: KeptResponses): Promise<KeptResponse> {
  const found = await kept.find(idIn(request), ownerIn(request));
  if (found === null) throw notKept(idIn(request));
  return found;
}

async function show(request: EndpointRequest, kept: KeptResponses): Promise<Answer> {
  if (request.query.get('stream') === 'true') throw unsupported('stream', 'A response that is kept is given whole. Leave out "stream".');
  return json((await keptIn(request, kept)).response);
}

async function showInput(request: EndpointRequest, kept: KeptResponses): Promise<Answer> {
  const { query } = request;
  const { messages } = await keptIn(request, kept);
  // wire: the SDKs write a list with brackets behind its name (openai-node 7.57)
  const wantsState = [...query.getAll('include'), ...query.getAll('include[]')].includes('reasoning.encrypted_content');
  return json(pageOf(inputItems(messages, idIn(request).slice('resp_'.length), wantsState), query));
}

async function remove(request: EndpointRequest, kept: KeptResponses): Promise<Answer> {
  const id = idIn(request);
  if (!(await kept.forget(id, ownerIn(request)))) throw notKept(id);
  return json({ id, object: 'response', deleted: true } satisfies DeletedResponse);
}

const notKept = (id: string): GatewayError =>
  new GatewayError('record_not_found', `There is no response "${id.slice(0, 100)}" that is kept for this key.`, { param: 'id' });
