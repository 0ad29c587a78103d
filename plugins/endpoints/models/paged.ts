/** The models in the form of the Messages API: a request with the header `anthropic-version` gets this form, in pages. */
import type { Model } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { json } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { Arrived } from '../../../core/pipeline/context.ts';
import { lifecycleOf } from './lifecycle.ts';
import type { ModelInfo, ModelPage } from './wire.ts';

/** Whether the caller speaks the Messages API. */
export const isPaged = ({ headers }: Arrived): boolean => headers['anthropic-version'] !== undefined;

/**
 * An answer in the form of the Messages API, an error too.
 * wire: its SDKs read the id of a request from the header `request-id` alone (anthropic-sdk-typescript 1.12)
 */
export function paged({ id }: Arrived, answer: () => object): Answer {
  const headers = { 'request-id': id };
  try {
    return json(answer(), { headers });
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown;
    const type = thrown.status === 404 ? 'not_found_error' : 'invalid_request_error';
    return json({ type: 'error', error: { type, message: thrown.message }, request_id: id }, { status: thrown.status, headers });
  }
}

/** wire: Anthropic: List models */
const usualPage = 20;
const largestPage = 1000;

/** A page of models: those after `after_id`, those before `before_id`, or the first ones where the query has no such parameter. */
export function pageOf(models: readonly Model[], query: URLSearchParams, now: number): ModelPage {
  const limit = Number(query.get('limit') ?? usualPage);
  if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) {
    throw new GatewayError('invalid_value', `"limit" must be a whole number from 1 to ${largestPage}.`, { param: 'limit' });
  }
  const before = placeOf(models, query, 'before_id');
  const start = before === null ? (placeOf(models, query, 'after_id') ?? -1) + 1 : Math.max(0, before - limit);
  const end = Math.min(before ?? models.length, start + limit);
  const data = models.slice(start, end).map((model) => modelInfo(model, now));
  return {
    data,
    has_more: before === null ? end < models.length : start > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

/** The place of the model that a parameter names; null where the query has no such parameter. */
function placeOf(models: readonly Model[], query: URLSearchParams, name: 'after_id' | 'before_id'): number | null {
  const id = query.get(name);
  if (id === null) return null;
  const place = models.findIndex((model) => model.id === id);
  if (place < 0) throw new GatewayError('invalid_value', `"${name}" names no model of the list.`, { param: name });
  return place;
}

const lifecycles: ReadonlySet<string> = new Set<ModelInfo['lifecycle']>(['active', 'deprecated', 'retired']);

/**
 * The stages of the models that a caller wants. An empty set means all stages.
 * wire: the SDKs write a list with brackets behind its name (anthropic-sdk-typescript 1.14)
 */
export function stagesOf(query: URLSearchParams): ReadonlySet<string> {
  const asked = new Set([...query.getAll('lifecycle'), ...query.getAll('lifecycle[]')]);
  if ([...asked].some((one) => !lifecycles.has(one))) {
    throw new GatewayError('invalid_value', `"lifecycle" must be ${[...lifecycles].join(', ')}.`, { param: 'lifecycle' });
  }
  return asked;
}

/**
 * wire: a model that is not deprecated yet has none of the two dates, and
 * what is not known is null (anthropic-sdk-typescript 1.14, ModelInfo)
 */
export function modelInfo(model: Model, now: number): ModelInfo {
  const { id, name, created, context_length: context, max_output_tokens: most, deprecated_at: deprecated, deactivated_at: gone } = model;
  const lifecycle = lifecycleOf(model, now);
  const dateOf = (date: string | null): string | null => (lifecycle === 'active' || date === null ? null : new Date(date).toISOString());
  return {
    type: 'model',
    id,
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
    lifecycle,
    deprecated_at: dateOf(deprecated),
    retires_at: dateOf(gone),
    max_input_tokens: context === 0 ? null : context,
    max_tokens: most,
    capabilities: null,
    line: null,
  };
}
