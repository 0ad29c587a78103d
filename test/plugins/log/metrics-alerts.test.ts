/** log/metrics: the shipped alerts, the Grafana dashboard and the expressions in the docs use only metrics that a scrape has. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { errorTable } from '../../../core/errors.ts';
import { isFault } from '../../../core/log/attempts.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { testGateway, twoUpstreams } from '../../_kit/gateway.ts';
import { startRedis } from '../../_kit/servers.ts';
import { memoryLog } from '../../_kit/log.ts';
import { answers, completion, said, startUpstream, streams } from '../../_kit/upstream.ts';
import { probe } from '../../core/scene.ts';
import { parseExposition } from './exposition.ts';

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Board {
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition: string }[] };
}

const rules = (parse(read('examples/prometheus-alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const readme = read('plugins/log/metrics/README.md');
const documented = /```promql\n([\s\S]*?)```/.exec(readme)?.[1]?.replaceAll(/^#.*$/gm, '') ?? '';
const board = JSON.parse(read('deploy/grafana/dashboards/model-gateway.json')) as Board;
const drawn = [
  ...board.templating.list.map(({ name, definition }) => [`the variable ${name}`, definition] as const),
  ...board.annotations.list.map(({ name, expr }) => [name, expr] as const),
  ...board.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`the panel ${title}`, expr] as const)),
];
const exprOf = (panel: string): string => board.panels.find(({ title }) => title === panel)?.targets?.[0]?.expr ?? '';
const asked = [
  ...drawn,
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...rules.map(({ alert, annotations }) => [`${alert} (text)`, annotations['description'] ?? ''] as const),
  ['the README', documented] as const,
];

/** Label names by metric, of a gateway that has answered, failed, and kept a log: it has every metric. */
const known = new Map<string, Set<string>>();

beforeAll(async () => {
  const log: LogReader = memoryLog();
  const keeping = probe((gateway) =>
    gateway.log.provide({ ...log, status: async () => ({ ...(await log.status()), lastDrainAt: Date.now() }) }),
  );
  const failing = await startUpstream(
    answers({}, { status: 429, headers: { 'retry-after-ms': '1' } }),
    answers({ error: { message: 'no' } }, { status: 503 }),
  );
  const answering = await startUpstream(
    answers(completion('hello')),
    streams(said('hello')),
    answers({}, { status: 503 }),
    answers(completion('hello')),
  );
  const redis = await startRedis();
  const config = twoUpstreams(failing.url, answering.url);
  const free = { id: 'unpriced', providers: [{ providerId: 'two', externalId: 'plain-1' }] };
  const { chat, get, close } = await testGateway({
    config: {
      ...config,
      models: [...(config['models'] as object[]), free],
      limits: [{ by: 'all', requests_per_minute: 4 }],
      redis: { url: redis.url },
    },
    plugins: [keeping],
  });
  await chat({});
  await (await chat({ stream: true })).text();
  await chat({});
  await chat({ model: 'unpriced' });
  expect((await chat({})).status).toBe(429);
  await get('/nowhere');
  for (const { name, labels } of parseExposition(await (await get('/metrics')).text())) {
    known.set(name, new Set([...(known.get(name) ?? []), ...Object.keys(labels)]));
  }
  await Promise.all([close(), redis.stop(), failing.close(), answering.close()]);
});

const text = /"(?:[^"\\]|\\.)*"/g;

/** Every metric with the labels that its braces name. */
const metricsIn = (expression: string): { name: string; labels: string[] }[] =>
  Array.from(
    expression
      .replaceAll(/\bjob=~"\$job"/g, '')
      .replaceAll(text, '""')
      .matchAll(/\b((?:gateway|process|nodejs)_\w+)(?:\{([^}]*)\})?/g),
    ([, name = '', matchers = '']) => ({
      name,
      labels: Array.from(matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g), ([, label = '']) => label),
    }),
  );

/** The labels that a sum keeps, with its first metric. */
const sumsIn = (expression: string): { name: string; labels: string[] }[] =>
  Array.from(expression.matchAll(/\bby \(([^)]*)\) \(\w+\((\w+)/g), ([, labels = '', name = '']) => ({
    name,
    labels: labels.split(/,\s*/),
  }));

describe.each(asked)('%s', (_, expression) => {
  it('uses only metrics and labels that exist', () => {
    for (const { name, labels } of [...metricsIn(expression), ...sumsIn(expression)]) {
      expect(known.has(name), name).toBe(true);
      for (const label of labels) expect(known.get(name), name).toContain(label);
    }
  });
});

describe('the alerts', () => {
  it('each have a unique name, an expression, a severity and a summary', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, expr, labels, annotations } of rules) {
      expect(metricsIn(expr).length, alert).toBeGreaterThan(0);
      expect(['page', 'ticket'], alert).toContain(labels['severity']);
      expect(annotations['summary'], alert).toBeTruthy();
    }
  });

  it('count as failures the errors that no caller causes, and no others', () => {
    const failing = rules.find(({ alert }) => alert === 'GatewayRequestsFail')?.expr ?? '';
    const [, codes = '', apart = ''] = /code=~"([^"]*)", code!="([^"]*)"/.exec(failing) ?? [];
    const counted = Object.keys(errorTable).filter((code) => new RegExp(`^(?:${codes})$`).test(code) && code !== apart);
    // not failures: the operator stops the gateway; a log that cannot be read and guesses of
    // the admin key delay no request; and the operator wants a caller to stop at its limit
    const expected = Object.entries(errorTable).filter(
      ([code, [, type]]) =>
        ['server_error', 'upstream_error', 'rate_limit_error'].includes(type) &&
        !['server_shutting_down', 'log_unavailable', 'too_many_attempts', 'rate_limit_exceeded', 'concurrency_limit_exceeded'].includes(
          code,
        ),
    );
    expect(counted.sort()).toEqual(expected.map(([code]) => code).sort());
    const drawnFailures = exprOf('Failures');
    expect(drawnFailures).toContain(`code=~"${codes}", code!="${apart}"`);
    // a 503 while every target rests is `refused`: without this code in the sum, the share of failures in an outage would be far above 1
    for (const share of [failing, documented, drawnFailures]) {
      expect(share.split(' / ').at(-1) ?? '').toMatch(
        /outcome!="refused"\}\[[^\]]+\]\) or rate\(gateway_requests_total\{[^}]*status="5xx"/,
      );
    }
  });
});

describe('the panel of failed attempts', () => {
  it('leaves out attempts that are not the provider’s failure: a hedge that was outrun, a client that left', () => {
    const [, ends = ''] = /outcome!~"([^"]*)"/.exec(exprOf('Failed attempts by provider')) ?? [];
    const outcomes = [...Object.keys(errorTable), 'answered', 'outrun'];
    expect(outcomes.filter((outcome) => new RegExp(`^(?:${ends})$`).test(outcome)).sort()).toEqual(
      outcomes.filter((outcome) => !isFault({ outcome })).sort(),
    );
  });
});

describe('the table in the README', () => {
  it('lists every metric of the gateway with its labels, and no other', () => {
    const rows = Array.from(readme.matchAll(/^\| (`gateway_.*?) \| (.*?) \|/gm), ([, names = '', labels = '']) => ({
      names: names.match(/gateway_\w+/g) ?? [],
      labels: labels.match(/\w+/g) ?? [],
    }));
    const families = Array.from(known.keys(), (name) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds')).filter(
      (name) => name.startsWith('gateway_') && name !== 'gateway_build_info',
    );
    expect(rows.flatMap(({ names }) => names).sort()).toEqual([...new Set(families)].sort());
    for (const { names, labels } of rows) {
      for (const name of names) {
        for (const label of known.get(name) ?? known.get(`${name}_sum`) ?? []) expect(labels, name).toContain(label);
      }
    }
  });
});
