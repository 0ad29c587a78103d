/** The metrics of several workers as one text. */
import { expect, test } from 'vitest';
import { Machine } from '../../../plugins/log/metrics/machine.ts';

const worker = (requests: number, cost: string, more: string = ''): { text: string; across: Record<string, 'least'> } => ({
  across: { gateway_target_standing: 'least' },
  text:
    [
      '# HELP gateway_requests_total Requests. # TYPE of lie 5',
      '# TYPE gateway_requests_total counter',
      `gateway_requests_total{model="a b",key="} 7"} ${requests}`,
      '# HELP gateway_cost_dollars_total Cost.',
      '# TYPE gateway_cost_dollars_total counter',
      `gateway_cost_dollars_total{model="a"} ${cost}`,
      '# HELP gateway_request_duration_seconds Time.',
      '# TYPE gateway_request_duration_seconds histogram',
      `gateway_request_duration_seconds_bucket{le="0.1"} ${requests}`,
      'gateway_request_duration_seconds_sum 1e-7',
      '# HELP gateway_requests_in_flight Running.',
      '# TYPE gateway_requests_in_flight gauge',
      'gateway_requests_in_flight 2',
      '# HELP gateway_target_standing Standing.',
      '# TYPE gateway_target_standing gauge',
      `gateway_target_standing{target="t"} ${requests % 2}`,
      '# HELP process_cpu_seconds_total CPU.',
      '# TYPE process_cpu_seconds_total counter',
      'process_cpu_seconds_total 1.5',
      '# HELP gateway_build_info Version.',
      '# TYPE gateway_build_info gauge',
      'gateway_build_info{version="1"} 1',
      more,
    ].join('\n') + '\n',
});

/** A metric as the gateway writes it. */
function gauge(series: string, value: number): string {
  const name = series.replace(/{.*/, '');
  return `# HELP ${name} A metric.\n# TYPE ${name} gauge\n${series} ${value}`;
}

test('the text of all workers has the sums of their counters, histograms and gauges, with exact dollars', async () => {
  const machine = new Machine();
  machine.learn(1, worker(3, '0.000000000001'));
  machine.learn(2, worker(4, '9007199254740993.1', gauge('gateway_only_here', 1)));
  const text = await machine.text();
  const lines = text.split('\n');
  expect(lines).toContain('gateway_requests_total{model="a b",key="} 7"} 7');
  expect(lines).toContain('gateway_cost_dollars_total{model="a"} 9007199254740993.100000000001');
  expect(lines).toContain('gateway_request_duration_seconds_bucket{le="0.1"} 7');
  expect(lines).toContain('gateway_request_duration_seconds_sum 2e-7');
  expect(lines).toContain('gateway_requests_in_flight 4');
  expect(lines).toContain('gateway_target_standing{target="t"} 0');
  expect(lines).toContain('gateway_build_info{version="1"} 1');
  expect(lines).toContain('gateway_only_here 1');
  expect(lines.filter((line) => line.startsWith('process_'))).toEqual([
    'process_cpu_seconds_total{worker="1"} 1.5',
    'process_cpu_seconds_total{worker="2"} 1.5',
  ]);
  expect(lines.filter((line) => line.startsWith('# HELP gateway_requests_total'))).toEqual([
    '# HELP gateway_requests_total Requests. # TYPE of lie 5',
  ]);
});

test('the text of all workers keeps the counters of a worker that has ended, and none of its other metrics', async () => {
  const machine = new Machine();
  machine.learn(1, worker(3, '0.5'));
  machine.learn(2, worker(4, '0.25'));
  machine.gone(2);
  const valueOf = async (series: string): Promise<string | undefined> =>
    (await machine.text())
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1);
  expect([
    await valueOf('gateway_requests_total{model="a b",key="} 7"}'),
    await valueOf('gateway_cost_dollars_total{model="a"}'),
    await valueOf('gateway_requests_in_flight'),
  ]).toEqual(['7', '0.75', '2']);
  expect(await machine.text()).not.toContain('worker="2"');
  // the next worker with this number begins at 0
  machine.learn(2, worker(1, '0'));
  machine.gone(2);
  machine.gone(9);
  expect(await valueOf('gateway_cost_dollars_total{model="a"}')).toBe('0.75');
  expect(await valueOf('gateway_requests_total{model="a b",key="} 7"}')).toBe('8');
});

test('the text of all workers keeps the time of the last drain when all workers have been replaced', async () => {
  const machine = new Machine();
  const drainedAt = (seconds: number): ReturnType<typeof worker> =>
    worker(1, '0', gauge('gateway_journal_last_drain_timestamp_seconds', seconds));
  const shown = async (): Promise<string[]> =>
    (await machine.text()).split('\n').filter((line) => line.startsWith('gateway_journal_last_drain_timestamp_seconds'));
  machine.learn(1, drainedAt(1_700_000_020));
  machine.learn(2, drainedAt(1_700_000_010));
  machine.gone(1);
  machine.gone(2);
  machine.learn(3, worker(1, '0'));
  expect(await shown()).toEqual(['gateway_journal_last_drain_timestamp_seconds 1700000020']);
  machine.learn(3, drainedAt(1_700_000_030));
  expect(await shown()).toEqual(['gateway_journal_last_drain_timestamp_seconds 1700000030']);
});

test('the text of all workers counts a worker once if it ends while the sums are made', async () => {
  const machine = new Machine();
  machine.learn(1, worker(3, '0.5'));
  machine.learn(2, worker(4, '0.25'));
  const text = machine.text();
  machine.gone(1);
  expect((await text).split('\n')).toContain('gateway_requests_total{model="a b",key="} 7"} 7');
  expect((await machine.text()).split('\n')).toContain('gateway_requests_total{model="a b",key="} 7"} 7');
});

test('the text of all workers says that the store and Redis answer, that a provider is on and that the config is valid only where all workers say so', async () => {
  const series = [
    'gateway_log_store_connected',
    'gateway_redis_connected',
    'gateway_provider_on{provider="p"}',
    'gateway_config_last_reload_successful',
  ];
  const saying = (value: number): ReturnType<typeof worker> => worker(1, '0', series.map((one) => gauge(one, value)).join('\n'));
  const machine = new Machine();
  machine.learn(1, saying(1));
  machine.learn(2, saying(1));
  expect((await machine.text()).split('\n')).toEqual(expect.arrayContaining(series.map((one) => `${one} 1`)));
  machine.learn(2, saying(0));
  expect((await machine.text()).split('\n')).toEqual(expect.arrayContaining(series.map((one) => `${one} 0`)));
});

test('the text of all workers has the time at which the last of them read the config', async () => {
  const name = 'gateway_config_last_reload_timestamp_seconds';
  const readAt = (seconds: number): ReturnType<typeof worker> => worker(1, '0', gauge(name, seconds));
  const machine = new Machine();
  machine.learn(1, readAt(1_700_000_020));
  machine.learn(2, readAt(1_700_000_010));
  expect((await machine.text()).split('\n')).toContain(`${name} 1700000020`);
});
