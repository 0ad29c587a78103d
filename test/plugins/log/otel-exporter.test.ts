/** The exporter of log/otel: batches, a limited queue, and collectors that are slow, strict, or absent. No request waits for it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../core/logger.ts';
import { Exporter, pauseMs } from '../../../plugins/log/otel/exporter.ts';
import type { ExporterParts } from '../../../plugins/log/otel/exporter.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import { answers, hangs, pause } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { freePort } from '../../_kit/servers.ts';
import { contentOf, gatewayOf, provider } from '../../core/scene.ts';
import { startCollector } from './otel-collector.ts';
import type { Collector } from './otel-collector.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

/** An exporter to a collector at this address, whose spans are any JSON. */
function exporterTo(url: string, more: Partial<ExporterParts> = {}): { exporter: Exporter; lines: Line[] } {
  const lines: Line[] = [];
  const logger = createLogger((line) => void lines.push(JSON.parse(line) as Line));
  const parts: ExporterParts = {
    url: new URL('/v1/traces', url),
    headers: {},
    around: ['{"spans":[', ']}'],
    fetch,
    logger,
    batchSize: 100,
    intervalMs: 1,
    queueBytes: 10_000_000,
    ...more,
  };
  return { exporter: new Exporter(parts), lines };
}

const received = ({ asked }: Collector): number[][] => asked.map(({ json }) => json['spans']);

const mebibyte = 1_048_576;

/** A collector that accepts at most this many spans in one export. */
const takes =
  (most: number): Step =>
  (response, asked) =>
    answers({}, { status: (asked.json['spans'] as unknown[]).length > most ? 413 : 200 })(response, asked);

const refuses = (status: number, headers: Record<string, string> = {}) => answers({ message: 'no' }, { status, headers });

describe('the exporter', () => {
  it('sends the collected spans together, in order', async () => {
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

  it.each([429, 502, 503, 504])('sends a batch again after the answer %i, when the collector says so', async (status) => {
    const collector = await startCollector(refuses(status, { 'retry-after': '0' }), answers({}));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(2);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1], [1]]);
    expect(lines).toEqual([]);
  });

  it.each([400, 401, 404, 500, 302])('drops a batch at once after the answer %i, and says why', async (status) => {
    const collector = await startCollector(refuses(status, { location: '/elsewhere' }));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1]]);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      msg: 'traces are dropped',
      reason: `the collector answered ${status}`,
      status,
      collector: new URL(collector.url).host,
    });
  });

  it('compresses what it sends', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url, { headers: { 'content-encoding': 'br', 'x-token': 'secret' } });
    exporter.add('1');
    await exporter.close(2000);
    expect(collector.asked[0]?.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json',
      'x-token': 'secret',
    });
  });

  it('puts at most 1 MiB into a batch, and sends it at once when it is full', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url, { intervalMs: 600_000 });
    const span = JSON.stringify('é'.repeat(200_000));
    for (let at = 0; at < 5; at++) exporter.add(span);
    await collector.exports(2);
    await exporter.close(2000);
    expect(received(collector).map((spans) => spans.length)).toEqual([2, 2, 1]);
    for (const { size } of collector.asked) expect(size).toBeLessThan(mebibyte);
  });

  it('sends the spans that came during an export, without waiting for further ones', async () => {
    let answer = (): void => {};
    const collector = await startCollector(async (response, asked) => {
      await new Promise<void>((resolve) => (answer = resolve));
      await answers({})(response, asked);
    }, answers({}));
    const { exporter } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    exporter.add('2');
    // the interval, of a millisecond, ends before the export does
    await pause(20);
    answer();
    await collector.exports(2);
    expect(received(collector)).toEqual([[1], [2]]);
    await exporter.close(2000);
  });

  it('collects small spans again after a batch of 1 MiB', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url, { intervalMs: 600_000 });
    exporter.add(`"${'x'.repeat(mebibyte)}"`);
    await collector.exports(1);
    // after a whole request to the same server, the exporter has read its answer
    await (await fetch(collector.url, { method: 'POST', body: '{"spans":[]}' })).text();
    exporter.add('1');
    exporter.add('2');
    await exporter.close(2000);
    expect(received(collector).slice(2)).toEqual([[1, 2]]);
  });

  it('sends a larger request alone', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url);
    for (const span of ['1', JSON.stringify('x'.repeat(2 * mebibyte)), '3']) exporter.add(span);
    await exporter.close(2000);
    expect(received(collector).map((spans) => spans.length)).toEqual([1, 1, 1]);
  });

  it('halves a batch that is too large for the collector, until it fits', async () => {
    const collector = await startCollector(takes(3));
    const { exporter, lines } = exporterTo(collector.url);
    for (let span = 0; span < 10; span++) exporter.add(String(span));
    await exporter.close(2000);
    const taken = received(collector).filter((spans) => spans.length <= 3);
    expect(taken.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(lines).toEqual([]);
  });

  it('drops a single request that is too large, and says so', async () => {
    const collector = await startCollector((response, asked) =>
      answers({ message: 'too large' }, { status: asked.text.includes('huge') ? 413 : 200 })(response, asked),
    );
    const { exporter, lines } = exporterTo(collector.url);
    for (const span of ['1', '2', '"huge"', '4']) exporter.add(span);
    await exporter.close(2000);
    expect(
      received(collector)
        .filter((spans) => !spans.includes('huge' as never))
        .flat(),
    ).toEqual([1, 2, 4]);
    const reason = 'a request is larger than the collector takes';
    expect(lines).toMatchObject([
      { level: 'warn', msg: 'traces are dropped', reason, status: 413 },
      { level: 'info', dropped: { [reason]: 1 } },
    ]);
  });

  it('logs the first loss of each reason, and the number of losses when they end', async () => {
    const collector = await startCollector(refuses(400), refuses(400), refuses(401), answers({}));
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 2 });
    for (let exports = 1; exports <= 4; exports++) {
      exporter.add('1');
      exporter.add('2');
      await collector.exports(exports);
    }
    await exporter.close(2000);
    expect(lines.map(({ level, reason, dropped }) => [level, reason ?? dropped])).toEqual([
      ['warn', 'the collector answered 400'],
      ['warn', 'the collector answered 401'],
      ['info', { 'the collector answered 400': 4, 'the collector answered 401': 2 }],
    ]);
  });

  it('does not fill the log where losses and successes alternate', async () => {
    const collector = await startCollector((response, asked) =>
      answers({}, { status: asked.text.includes('bad') ? 400 : 200 })(response, asked),
    );
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 1 });
    for (let turn = 0; turn < 20; turn++) {
      exporter.add('"bad"');
      exporter.add('"good"');
    }
    await collector.exports(40);
    await exporter.close(2000);
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'info', 'warn', 'info']);
    expect(lines[3]).toMatchObject({ dropped: { 'the collector answered 400': 19 } });
  });

  it('keeps at most as many spans as its queue holds', async () => {
    const collector = await startCollector(hangs);
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 1, queueBytes: 50 });
    const before = Array.from({ length: 100 }, (_, at) => String(1000 + at));
    for (const span of before) exporter.add(span);
    await collector.exports(1);
    expect(lines).toMatchObject([{ level: 'warn', reason: 'the queue is full' }]);
    await exporter.close(10);
    expect(lines.at(-1)).toMatchObject({ level: 'info', dropped: { 'the queue is full': 88, 'the gateway stopped first': 12 } });
    const all = received(collector).flat();
    expect(all.length).toBeLessThanOrEqual(12);
  });

  it('has room for new spans once others have been sent', async () => {
    const collector = await startCollector();
    const { exporter } = exporterTo(collector.url, { queueBytes: 5 });
    exporter.add('1000');
    await expect.poll(() => (exporter.add('2000'), received(collector))).toContainEqual([2000]);
    await exporter.close(2000);
  });

  it('says how many spans of a batch a collector rejected', async () => {
    const collector = await startCollector(answers({ partialSuccess: { rejectedSpans: '2', errorMessage: 'too old' } }));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await exporter.close(2000);
    const reason = 'the collector refused single spans';
    expect(lines).toMatchObject([
      { level: 'warn', reason, said: 'too old' },
      { level: 'info', dropped: { [reason]: 2 } },
    ]);
  });

  it.each<[string, (quoted: string) => Step]>([
    ['refuses a batch', (quoted) => answers({ message: `unknown key ${quoted}` }, { status: 401 })],
    ['does not take single spans', (quoted) => answers({ partialSuccess: { rejectedSpans: 1, errorMessage: `unknown key ${quoted}` } })],
  ])('keeps the credentials out of the process log where a collector quotes them and %s', async (_, step) => {
    const headers = { authorization: 'Basic b3RlbDpzZWNyZXQ=', 'x-honeycomb-team': 'hcaik-team' };
    const collector = await startCollector(step('b3RlbDpzZWNyZXQ= and hcaik-team in /v1/traces?token=in%2Fthe+address, in/the address'));
    const { exporter, lines } = exporterTo(collector.url, { headers, url: new URL('/v1/traces?token=in%2Fthe+address', collector.url) });
    exporter.add('1');
    await exporter.close(2000);
    expect(lines[0]?.['said']).toContain('unknown key [redacted] and [redacted] in /v1/traces?token=[redacted], [redacted]');
    expect(JSON.stringify(lines)).not.toMatch(/b3Rl|hcaik/);
  });

  it('leaves nothing of a secret that begins with another one', async () => {
    const collector = await startCollector(answers({ message: 'no access for acme-5f3e9a with acme' }, { status: 401 }));
    const { exporter, lines } = exporterTo(collector.url, { headers: { 'x-team': 'acme', 'x-token': 'acme-5f3e9a' } });
    exporter.add('1');
    await exporter.close(2000);
    expect(lines[0]?.['said']).toContain('no access for [redacted] with [redacted]');
  });

  it('logs only the beginning of what the collector answers', async () => {
    const collector = await startCollector(answers('x'.repeat(10_000), { status: 400 }));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await exporter.close(2000);
    expect(String(lines[0]?.['said']).length).toBe(300);
  });

  it('judges an answer that is not JSON by its status', async () => {
    const collector = await startCollector(answers('fine'));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await exporter.close(2000);
    expect(lines).toEqual([]);
  });

  it('sends all waiting spans when it closes, also those that wait for a retry, and none after', async () => {
    const collector = await startCollector(refuses(503, { 'retry-after': '3600' }), answers({}));
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    exporter.add('2');
    await Promise.all([exporter.close(5000), exporter.close(5000)]);
    exporter.add('3');
    expect(
      received(collector)
        .flat()
        .toSorted((one, other) => one - other),
    ).toEqual([1, 1, 2]);
    expect(lines).toEqual([]);
  });

  it('sends batches in parallel when it closes', async () => {
    const under: (() => void)[] = [];
    const collector = await startCollector((response) => void under.push(() => response.writeHead(200).end('{}')));
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 1 });
    for (const span of ['1', '2', '3', '4']) exporter.add(span);
    const closed = exporter.close(5000);
    await collector.exports(4);
    for (const answer of under) answer();
    await closed;
    expect(lines).toEqual([]);
  });

  it('reads only the beginning of an answer without an end, and sends the next batch', async () => {
    const endless: Step = (response) => {
      const writing = setInterval(() => response.write('x'.repeat(16_384)), 1);
      response.once('close', () => clearInterval(writing));
    };
    const collector = await startCollector(endless, answers({}));
    const { exporter, lines } = exporterTo(collector.url, { batchSize: 1 });
    exporter.add('1');
    await collector.exports(1);
    await collector.asked[0]?.closed;
    exporter.add('2');
    await collector.exports(2);
    await exporter.close(2000);
    expect(received(collector)).toEqual([[1], [2]]);
    expect(lines).toEqual([]);
  });

  it('closes although the collector never answers', async () => {
    const collector = await startCollector(hangs);
    const { exporter, lines } = exporterTo(collector.url);
    exporter.add('1');
    await collector.exports(1);
    exporter.add('2');
    await exporter.close(10);
    const reason = 'the gateway stopped first';
    expect(lines).toMatchObject([
      { level: 'warn', reason },
      { level: 'info', dropped: { [reason]: 2 } },
    ]);
  });

  it('waits as long as the collector asks, up to five minutes', () => {
    expect([0, 45_000, 600_000].map((askedMs) => pauseMs(1, askedMs))).toEqual([0, 45_000, 300_000]);
  });

  it('waits longer each time where the collector does not say, up to half a minute', () => {
    for (const [tried, middle] of [
      [1, 500],
      [2, 1000],
      [3, 2000],
      [4, 4000],
    ] as const) {
      expect(pauseMs(tried, null)).toBeGreaterThanOrEqual(middle / 2);
      expect(pauseMs(tried, null)).toBeLessThan(middle * 1.5);
    }
    expect(pauseMs(20, null)).toBe(30_000);
  });
});

const plugins = (endpoint: string): unknown[] =>
  quietPlugins.map((use) => (use === 'log/otel' ? { use, with: { endpoint, interval_ms: 1, batch_size: 1, queue_bytes: 1024 } } : use));

describe('requests', () => {
  it('are answered while no collector listens', async () => {
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), plugins: plugins(`http://127.0.0.1:${await freePort()}`) });
    for (let at = 0; at < 20; at++) expect(await contentOf(await gateway.chat({}))).toBe('hello');
    await gateway.close();
    expect(gateway.records).toHaveLength(20);
    const lines = gateway.lines.map((line) => JSON.parse(line) as Line);
    expect(lines.length).toBeLessThan(5);
    expect(lines[0]).toMatchObject({ level: 'warn', msg: 'traces are dropped' });
    expect(Object.values(lines.at(-1)?.['dropped'] as Record<string, number>).reduce((sum, count) => sum + count)).toBe(20);
  });

  it('are answered while the collector accepts connections and does not answer', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const gateway = await gatewayOf({
      ...oneUpstream((await provider()).url),
      plugins: plugins(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`),
    });
    for (let at = 0; at < 20; at++) expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(gateway.records).toHaveLength(20);
    await gateway.close();
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });
});
