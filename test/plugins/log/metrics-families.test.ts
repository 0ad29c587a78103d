/** log/metrics: the families of a scrape, a family that is full, and how long writing the text blocks other work. */
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { answerOf } from '../../../plugins/log/metrics/answer.ts';
import { errorTable } from '../../../core/errors.ts';
import { Counter, Histogram, mostSamples, numbers } from '../../../plugins/log/metrics/families.ts';
import type { Family } from '../../../plugins/log/metrics/families.ts';
import { RequestMeters } from '../../../plugins/log/metrics/requests.ts';
import { anyText } from '../../_kit/fuzz.ts';
import { aRecord } from '../../_kit/log.ts';
import { parseExposition, total } from './exposition.ts';
import type { Sample } from './exposition.ts';

const quiet = (): void => {};

const samplesOf = (family: Family): Sample[] => parseExposition([...family.text()].join(''));

describe('a family', () => {
  it('writes any label so that a reader gets the same label', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyText(), fc.nat()), { minLength: 1 }), (added) => {
        const counter = new Counter({ name: 'some_total', help: 'a \\ and\na line', labels: ['of'] }, numbers, quiet);
        for (const [value, amount] of added) counter.add([value.replaceAll('\0', '')], amount);
        const samples = samplesOf(counter);
        expect(total(samples, 'some_total')).toBe(added.reduce((sum, [, amount]) => sum + amount, 0));
        expect(new Set(samples.map(({ labels }) => labels['of']))).toEqual(new Set(added.map(([value]) => value.replaceAll('\0', ''))));
      }),
    );
  });

  it('puts each value into the first bucket that fits, and into every later one', () => {
    const bounds = [0.1, 1, 10];
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }).map((ms) => ms / 1000)), (values) => {
        const histogram = new Histogram({ name: 'took_seconds', help: 'took', labels: [] }, bounds, quiet);
        for (const value of values) histogram.observe([], value);
        const samples = samplesOf(histogram);
        for (const bound of bounds) {
          expect(total(samples, 'took_seconds_bucket', { le: String(bound) })).toBe(values.filter((value) => value <= bound).length);
        }
        expect(total(samples, 'took_seconds_bucket', { le: '+Inf' })).toBe(values.length);
        expect(total(samples, 'took_seconds_count')).toBe(values.length);
        expect(total(samples, 'took_seconds_sum')).toBeCloseTo(
          values.reduce((sum, value) => sum + value, 0),
          5,
        );
      }),
    );
  });
});

describe('a family that is full', () => {
  const about = { name: 'some_total', help: 'some', labels: ['status'], open: ['model', 'tenant'] };

  it('is reported once', () => {
    const told: string[] = [];
    const counter = new Counter(about, numbers, (name) => told.push(name));
    for (let at = 0; at < mostSamples; at++) counter.add(['2xx', 'm', String(at)], 1);
    expect(told).toEqual([]);
    for (let at = 0; at < 100; at++) counter.add(['2xx', 'm', `late ${at}`], 1);
    expect(told).toEqual(['some_total']);
  });

  it('merges metadata first, keeps counting known values, and loses no count', () => {
    const counter = new Counter(about, numbers, quiet);
    for (let at = 0; at < mostSamples + 500; at++) counter.add(['2xx', 'm', String(at)], 1);
    counter.add(['2xx', 'm', '0'], 1);
    counter.add(['2xx', 'late', 'late'], 1);
    const samples = samplesOf(counter);
    expect(total(samples, 'some_total', { model: 'm', tenant: '(other)' })).toBe(500);
    expect(total(samples, 'some_total', { model: 'late', tenant: '(other)' })).toBe(1);
    expect(total(samples, 'some_total', { tenant: '0' })).toBe(2);
    expect(total(samples, 'some_total')).toBe(mostSamples + 502);
  });

  it('merges models where that is not enough, and never labels with few values', () => {
    const counter = new Counter(about, numbers, quiet);
    for (let at = 0; at < 2 * mostSamples; at++) counter.add(['2xx', String(at), 'a'], 1);
    counter.add(['5xx', 'late', 'late'], 1);
    const samples = samplesOf(counter);
    expect(total(samples, 'some_total', { model: '(other)', tenant: '(other)', status: '2xx' })).toBeGreaterThan(1000);
    expect(total(samples, 'some_total', { model: '(other)', tenant: '(other)', status: '5xx' })).toBe(1);
    expect(new Set(samples.map(({ labels }) => labels['status']))).toEqual(new Set(['2xx', '5xx']));
    expect(total(samples, 'some_total')).toBe(2 * mostSamples + 1);
    expect(samples.length).toBeLessThan(1.2 * mostSamples);
  });

  it('counts each bucket of a histogram as a sample', () => {
    const histogram = new Histogram({ name: 'took_seconds', help: 'took', labels: [], open: ['model'] }, [1, 2, 3], quiet);
    for (let at = 0; at < mostSamples; at++) histogram.observe([String(at)], 1);
    const samples = samplesOf(histogram);
    expect(samples.length).toBeGreaterThan(0.9 * mostSamples);
    expect(samples.length).toBeLessThanOrEqual(mostSamples + 6);
    expect(total(samples, 'took_seconds_count')).toBe(mostSamples);
  });

  it('still shows an outage by its status, outcome, code and provider', () => {
    const told = new Set<string>();
    const meters = new RequestMeters({ metadataLabels: ['tenant'], maxLabelValues: 100 }, (name) => told.add(name));
    const ended = (more: object): void => meters.end(aRecord(more) as unknown as RequestRecord, new Set(Object.keys(errorTable)));
    for (let at = 0; at < 1.3 * mostSamples; at++) ended({ model: `m${at}`, key: `k${at}`, metadata: { tenant: `t${at % 50}` } });
    for (let at = 0; at < 1000; at++) {
      ended({
        model: `late ${at}`,
        key: `late ${at}`,
        outcome: 'failed',
        status: 503,
        error: { code: 'upstream_overloaded', message: 'no', plugin: null },
      });
    }
    const samples = parseExposition([...meters.text()].join(''));
    expect([...told].sort()).toEqual([
      'gateway_cost_dollars_total',
      'gateway_request_duration_seconds',
      'gateway_requests_total',
      'gateway_tokens_total',
    ]);
    expect(total(samples, 'gateway_requests_total', { status: '5xx', outcome: 'failed', provider: 'up', stream: 'false' })).toBe(1000);
    expect(total(samples, 'gateway_request_duration_seconds_count', { outcome: 'failed' })).toBe(1000);
    expect(total(samples, 'gateway_errors_total', { code: 'upstream_overloaded', provider: 'up' })).toBe(1000);
    expect(total(samples, 'gateway_requests_total')).toBe(1.3 * mostSamples + 1000);
  });
});

describe('the answer to a scrape', () => {
  function* manyLines(): Generator<string> {
    for (let at = 0; at < 100_000; at++) yield `some_total{of="${at} – dash"} 1\n`;
  }

  it('lets other work run while it is made', async () => {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const { body } = await answerOf(manyLines(), 'identity');
    isOver = true;
    expect(turns).toBeGreaterThan(20);
    expect(String(body as Buffer)).toBe([...manyLines()].join(''));
  });

  it('is the same text when it is compressed', async () => {
    const { body, headers } = await answerOf(manyLines(), 'gzip');
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(String(gunzipSync(body as Uint8Array))).toBe([...manyLines()].join(''));
  });
});
