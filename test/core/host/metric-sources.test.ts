/** Metrics of plugins: a source that cannot be read or written is left out, the others stay, and its plugin is named once. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMetricSources } from '../../../core/host/metric-sources.ts';
import type { Metric, ReadMetrics } from '../../../core/host/metric-sources.ts';

const queue: Metric = { type: 'gauge', name: 'my_queue_length', help: 'What waits.', samples: [[{ queue: 'a' }, 3]] };

/** A source of `test/probe`, a source of another plugin, and the failures that were reported. */
function beside(read: () => unknown) {
  const told: string[] = [];
  const sources = createMetricSources((plugin, error) => void told.push(`${plugin}: ${(error as Error).message}`));
  sources.of('test/other').add(() => [queue]);
  const { add, read: readAll } = sources.of('test/probe');
  add(read as ReadMetrics);
  return { told, readAll };
}

describe('a source of metrics', () => {
  it('is read together with the sources of other plugins', async () => {
    const own = { ...queue, name: 'my_queue:bytes', samples: [] };
    expect(await beside(async () => [own]).readAll()).toEqual([queue, own]);
  });

  it('may give several metrics with one name, which become one with all of their samples', async () => {
    const [one, two] = [
      { ...queue, samples: [[{ queue: 'b' }, 4]] },
      { ...queue, samples: [[{ queue: 'c' }, 5]] },
    ];
    expect(await beside(() => [one, { ...queue, name: 'my_queue_bytes' }, two]).readAll()).toEqual([
      {
        ...queue,
        samples: [
          [{ queue: 'a' }, 3],
          [{ queue: 'b' }, 4],
          [{ queue: 'c' }, 5],
        ],
      },
      { ...queue, name: 'my_queue_bytes' },
    ]);
  });

  it.each<[string, unknown]>([
    ['a text', 'junk'],
    ['nothing', null],
    ['a list of nothing', [null]],
    ['a metric of another type', [{ ...queue, type: 'histogram' }]],
    ['a metric without samples', [{ ...queue, samples: undefined }]],
    ['a metric without help', [{ ...queue, help: undefined }]],
    ['a name with a brace', [{ ...queue, name: 'my_queue{' }]],
    ['a label that is no name', [{ ...queue, samples: [[{ 'my-queue': 'a' }, 3]] }]],
    ['a label that is no text', [{ ...queue, samples: [[{ queue: 3 }, 3]] }]],
    ['a value that is no number', [{ ...queue, samples: [[{ queue: 'a' }, 10n]] }]],
  ])('that gives %s is left out and named once, and the others stay', async (_, given) => {
    const { told, readAll } = beside(() => given);
    expect([await readAll(), await readAll()]).toEqual([[queue], [queue]]);
    expect(told).toEqual([
      expect.stringMatching(/^test\/probe: (?:a source of metrics must give a list|the metric 1 of a source, .* is not)/),
    ]);
  });

  it('that throws later keeps its counters, which must not go down, and not its gauges', async () => {
    const hits: Metric = { type: 'counter', name: 'my_hits_total', help: 'Hits.', samples: [[{}, 7]] };
    let isBroken = false;
    const { told, readAll } = beside(() => {
      if (isBroken) throw new Error('no answer');
      return [hits, { ...queue, name: 'my_queue_bytes' }];
    });
    expect(await readAll()).toEqual([queue, hits, { ...queue, name: 'my_queue_bytes' }]);
    isBroken = true;
    expect([await readAll(), told]).toEqual([[queue, hits], ['test/probe: no answer']]);
  });

  it('that never answers delays the metrics by five seconds at most', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { told, readAll } = beside(() => new Promise(() => {}));
    const read = readAll();
    await vi.advanceTimersByTimeAsync(5000);
    expect([await read, told]).toEqual([[queue], ['test/probe: no answer within 5000 ms']]);
  });
});
