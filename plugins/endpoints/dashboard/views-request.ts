/** One record, and what is typical for its model. The prices of this config are for records that are too old to have their own. */
import type { Config, Pricing } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { askedBody } from '../../../core/log/asked.ts';
import type { LoggedDetail, StatsRow } from '../../../core/log/store.ts';
import type { ViewRequest } from './views.ts';

export async function requestView(id: string, { reader, config }: Pick<ViewRequest, 'reader'> & { config: Config }): Promise<object> {
  const [record, status] = await Promise.all([reader.get(id), reader.status()]);
  if (record === null) throw new GatewayError('record_not_found', `There is no request "${id.slice(0, 100)}" on record.`, { param: 'id' });
  // cost: the record already has the body of a chat completion request, so it is not sent twice
  const asked = record.request === null || record.path.endsWith('/chat/completions') ? null : askedBody(record.path, record.request);
  return {
    record,
    asked,
    prices: pricesOf(record, config),
    isSameConfig: record.configHash === config.hash,
    bodies: status.bodies,
    retentionDays: status.retentionDays,
  };
}

function pricesOf({ model: id, provider, attempts }: LoggedDetail, { models }: Config): Pricing | null {
  const model = models.find((one) => one.id === id);
  const externalId = attempts.at(-1)?.externalId;
  const mappings = model?.providers.filter(({ providerId }) => providerId === provider) ?? [];
  const mapping = mappings.find((one) => one.externalId === externalId) ?? mappings[0];
  return mapping?.pricing ?? model?.pricing ?? null;
}

const hour = 3_600_000;
/** How many hours before the request are compared with it; the longest is tried first. */
const reaches = [24, 6, 1];
/** More than one hour is read only up to this many requests. cost: the store reads each request, a hundred thousand in half a second. */
const mostRead = 20_000;
/** With fewer requests, a percentile means nothing. */
const fewest = 20;

/**
 * How long requests of `model` took before the moment `at` (milliseconds since 1970), where `provider` answered and was asked first.
 * The number of requests in the hour before decides how many hours the query reads.
 */
export async function typicalView({ reader, params }: ViewRequest): Promise<object> {
  const at = Number(params.get('at'));
  const [model, provider] = [params.get('model') ?? '', params.get('provider') ?? ''];
  if (!Number.isSafeInteger(at) || model === '' || provider === '') {
    throw new GatewayError('invalid_value', 'Give model, provider and at.', { param: 'at' });
  }
  const conditions = Object.entries({ model, provider, status: 'ok', rescued: 'false' }).map(([field, value]) => ({
    field,
    operator: 'in' as const,
    values: [value],
  }));
  const before = async (hours: number): Promise<StatsRow | undefined> =>
    (await reader.stats({ from: at - hours * hour, to: at, conditions, text: null }, { by: null, limit: 1 }))[0];
  const last = await before(1);
  const hours = reaches.find((reach) => (last?.requests ?? 0) * reach <= mostRead) ?? 1;
  const row = hours === 1 ? last : await before(hours);
  return { hours, typical: row === undefined || row.requests < fewest ? null : row };
}
