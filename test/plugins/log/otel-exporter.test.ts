/** The exporter of log/otel: batches, a bounded queue, a collector that is slow, strict, or not there. Requests never notice. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../core/logger.ts';
import { Exporter } from '../../../plugins/log/otel/exporter.ts';
import type { ExporterParts } from '../../../plugins/log/otel/exporter.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import { answers, hangs } from '../../_kit/upstream.ts';
import { freePort } from '../../_kit/servers.ts';
import { contentOf, gatewayOf, provider } from '../../core/scene.ts';
import { startCollector } from './otel-collector.ts';
import type { Collector } from './otel-collector.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

/** An exporter to a collector at this address, whose spans are numbers. */
function exporterTo(url: string, more: Partial<ExporterParts> = {}): { exporter: Exporter; lines: Line[] } {
  const lines: Line[] = [];
  const logger = createLogger((line) => void lines.push(JSON.parse(line) as Line));
  const parts: ExporterParts = { url: new URL('/v1/traces', url), headers: {}, around: ['{"spans":[', ']}'], fetch, logger, batchSize: 100, intervalMs: 1, queueBytes: 100_000, ...more };
  return { exporter: new Exporter(parts), lines };
}

const received = ({ asked }: Collector): number[][] => asked.map(({ json }) => json['spans']);

const refuses = (status: number, headers: Record<string, string> = {}) => answers({ message: 'no' }, { status, headers });

describe('the exporter', () => {
  it('sends what has come together, in order', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url);
    for (const span of ['1', '2', '3']) exporter.add(span);
    await collector.exports(1);
    expect(received(collector)).toEqual([[1, 2, 3]]);
    await exporter.close(2000);
  });

  it('does not wait once a batch is full', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url, { batchSize: 2, intervalMs: 600_000 });
    for (const span of ['1', '2', '3']) exporter.add(span);
    await collector.exports(1);
    expect(received(collector)).toEqual([[1, 2]]);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1, 2], [3]]);
  });

  it.each([429, 502, 503, 504])('sends again what was answered by %i, when the collector says so', async (status) => {
    const collector = await startCollector(refuses(status, { 'retry-after': '0' }), answers({}));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(2);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1], [1]]);
    expect(lines).toEqual([]);
  });

  it.each([400, 401, 404, 500, 302])('gives up at once what was answered by %i, and says why', async (status) => {
    const collector = await startCollector(refuses(status, { location: '/elsewhere' }));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1]]);
    expect(lines).toMatchObject([{ level: 'warn', msg: 'traces are dropped: the collector does not take them', status, collector: new URL(collector.url).host }]);
  });

  it('says once that it drops, and how many it dropped when that is over', async () => {
    const collector = await startCollector(refuses(400), refuses(400), refuses(400), answers({}));
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 2 });
    for (let exports = 1; exports <= 4; exports++) {
      exporter.add('1');
      exporter.add('2');
      await collector.exports(exports);
    }
    await exporter.close(2000);
    expect(lines.map(({ level, dropped }) => [level, dropped])).toEqual([['warn', undefined], ['info', 6]]);
  });

  it('keeps no more than its queue holds', async () => {
    const collector = await startCollector(hangs);
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 1, queueBytes: 50 });
    const before = Array.from({ length: 100 }, (_, at) => String(1000 + at));
    for (const span of before) exporter.add(span);
    await collector.exports(1);
    expect(lines).toMatchObject([{ level: 'warn', reason: 'the queue is full' }]);
    collector.script(answers({}));
    await exporter.close(10);
    const all = received(collector).flat();
    expect(all.length).toBeLessThanOrEqual(12);
  });

  it('says what a collector did not take of a batch', async () => {
    const collector = await startCollector(answers({ partialSuccess: { rejectedSpans: '2', errorMessage: 'too old' } }));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await exporter.close(2000);
    expect(lines).toMatchObject([{ level: 'warn', msg: 'the collector refused some spans', refused: 2, said: 'too old' }]);
  });

  it('takes an answer that is no JSON for what its status says', async () => {
    const collector = await startCollector(answers('fine'));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await exporter.close(2000);
    expect(lines).toEqual([]);
  });

  it('sends what waits when it closes, even what waits for another try, and nothing after', async () => {
    const collector = await startCollector(refuses(503, { 'retry-after': '3600' }), answers({}));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    exporter.add('2');
    await Promise.all([exporter.close(5000), exporter.close(5000)]);
    exporter.add('3');
    expect(received(collector)).toEqual([[1], [1], [2]]);
    expect(lines).toEqual([]);
  });

  it('closes although the collector never answers', async () => {
    const collector = await startCollector(hangs);
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    exporter.add('2');
    await exporter.close(10);
    expect(lines).toHaveLength(1);
  });
});

const plugins = (endpoint: string): unknown[] => quietPlugins.map((use) => (use === 'log/otel' ? { use, with: { endpoint, interval_ms: 1, batch_size: 1, queue_bytes: 1024 } } : use));

describe('requests', () => {
  it('are answered while no collector listens', async () => {
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), plugins: plugins(`http://127.0.0.1:${await freePort()}`) });
    for (let at = 0; at < 20; at++) expect(await contentOf(await gateway.chat({}))).toBe('hello');
    await gateway.close();
    expect(gateway.records).toHaveLength(20);
    const warnings = gateway.lines.filter((line) => line.includes('traces are dropped'));
    expect(warnings).toHaveLength(1);
    expect(gateway.lines).toEqual(warnings);
  });

  it('are answered while the collector holds its connections and says nothing', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), plugins: plugins(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`) });
    for (let at = 0; at < 20; at++) expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(gateway.records).toHaveLength(20);
    await gateway.close();
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });
});
