/** One record. The prices of this config are for records that are too old to have their own. */
import type { Config, Pricing } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { askedBody } from '../../../core/log/asked.ts';
import type { LoggedDetail, LogReader } from '../../../core/log/store.ts';

export async function requestView(id: string, { reader, config }: { reader: LogReader; config: Config }): Promise<object> {
  const [record, status] = await Promise.all([reader.get(id), reader.status()]);
  if (record === null) throw new GatewayError('record_not_found', `There is no request "${id.slice(0, 100)}" on record.`, { param: 'id' });
  // cost: the request of the chat door is in the record
  const asked = record.request === null || record.path.endsWith('/chat/completions') ? null : askedBody(record.path, record.request);
  return { record, asked, prices: pricesOf(record, config), isSameConfig: record.configHash === config.hash, bodies: status.bodies, retentionDays: status.retentionDays };
}

function pricesOf({ model: id, provider, attempts }: LoggedDetail, { models }: Config): Pricing | null {
  const model = models.find((one) => one.id === id);
  const externalId = attempts.at(-1)?.externalId;
  const mappings = model?.providers.filter(({ providerId }) => providerId === provider) ?? [];
  const mapping = mappings.find((one) => one.externalId === externalId) ?? mappings[0];
  return mapping?.pricing ?? model?.pricing ?? null;
}
