/** What runs, and how its log is doing. Names only: addresses and settings may hold what is secret. */
import type { Config } from '../../../core/config.ts';
import type { LogReader } from '../../../core/log/store.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { json } from '../../../core/pipeline/answer.ts';
import { version } from '../../../core/version.ts';

export interface Described {
  readonly config: Config;
  readonly checkHealth: Gateway['checkHealth'];
  readonly reader: LogReader | null;
}

const notConfigured = { connected: false, error: 'not configured' };

export async function describeGateway({ config, checkHealth, reader }: Described): Promise<Answer> {
  const [health, log] = await Promise.all([checkHealth({ status: 'ok', redis: notConfigured, database: notConfigured }, { skip: new Set() }), reader === null ? null : reader.status()]);
  return json({
    version,
    health,
    log,
    config: {
      hash: config.hash,
      models: config.models.length,
      providers: Array.from(config.providers.values(), ({ id, missing }) => ({ id, isOn: missing === null, missing })),
      plugins: config.plugins.map(({ use }) => use),
    },
  });
}
