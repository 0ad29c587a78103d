/** The export: complete, read page by page, and safe to open. */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { csvCell, csvHead, csvLine } from '../../../../plugins/endpoints/logs/csv.ts';
import { aRecord } from '../../../_kit/log.ts';
import { pause } from '../../../_kit/upstream.ts';
import { at, logScene } from './scene.ts';
import type { Scene } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await logScene();
});
afterEach(async () => await scene.close());

const exported = async (query: string): Promise<string> => await (await scene.get(`/api/logs/export?${query}`)).text();

describe('an export', () => {
  it('is a file with a name', async () => {
    const { headers } = await scene.get('/api/logs/export?format=csv');
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'text/csv; charset=utf-8; header=present',
      'attachment; filename="requests-2026-03-01T12-00-00.csv"',
    ]);
  });

  it('has whole records as JSON Lines', async () => {
    const record = scene.log.add({ createdAt: at(1), request: { model: 'plain' }, reasoningContent: 'because' });
    expect(
      (await exported('format=jsonl'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    ).toEqual([record]);
  });

  it('has in CSV the caller, and marks of estimates', () => {
    const [names = [], cells = []] = [csvHead([]), csvLine(aRecord({ userAgent: '=curl', usageEstimated: true }), [])].map((line) =>
      line.trimEnd().split(','),
    );
    const cell = (name: string): string | undefined => cells[names.indexOf(name)];
    expect([cell('userAgent'), cell('usageEstimated'), cell('cost')]).toEqual(["'=curl", 'true', '0.00002']);
  });

  it('has in CSV no duration of a request whose process died, because nobody knows it', () => {
    const place = csvHead([]).split(',').indexOf('durationMs');
    expect(csvLine(aRecord({ outcome: 'interrupted', durationMs: 0 }), []).split(',')[place]).toBe('');
    expect(csvLine(aRecord({ outcome: 'answered', durationMs: 0 }), []).split(',')[place]).toBe('0');
  });

  it('has a column for each metadata key', async () => {
    scene.log.add({ createdAt: at(1), metadata: { 'tenant-id': 'acme' } });
    scene.log.add({ createdAt: at(2), metadata: { 'tenant-id': 'globex', team: 'a,b' } });
    const [head = '', ...rows] = (await exported('format=csv')).trimEnd().split('\r\n');
    expect(head).toMatch(/^id,createdAt,status,.*,meta\.tenant-id,meta\.team,otherMetadata$/);
    expect(rows.map((row) => row.split(',').slice(27).join())).toEqual(['acme,,', 'globex,"a,b",']);
  });

  it('has the fields of plugins as JSON', () => {
    const [head, row] = [csvHead([]), csvLine(aRecord({ fields: { verdict: 'bad', score: 3 } }), [])];
    expect([head.split(',').indexOf('fields'), row.slice(row.indexOf('abc,'))]).toEqual([
      26,
      'abc,"{""verdict"":""bad"",""score"":3}",\r\n',
    ]);
  });

  it('has metadata without a column in the last column', () =>
    expect(csvLine(aRecord({ metadata: { team: 'a', rare: 'b' } }), ['team'])).toMatch(/,a,"\{""rare"":""b""\}"\r\n$/));

  it('accepts the filters of the list', async () => {
    scene.log.add({ createdAt: at(1) });
    scene.log.add({ createdAt: at(90) });
    expect((await exported('format=jsonl&since=1h')).match(/\n/g)).toHaveLength(1);
  });

  it('ends at its limit', async () => {
    for (let minute = 0; minute < 5; minute++) scene.log.add({ createdAt: at(minute) });
    expect((await exported('format=jsonl&limit=3')).match(/\n/g)).toHaveLength(3);
  });

  it('has every record once, over many pages', async () => {
    for (let second = 0; second < 130; second++) scene.log.add({ createdAt: at(second / 60) });
    const ids = (await exported('format=jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    expect([ids.length, new Set(ids).size, scene.log.pages.length]).toEqual([130, 130, 3]);
  });

  /** The size of a body: a page of such bodies is larger than the buffers of a socket. */
  function addLargeRecords(count: number): void {
    const request = { text: 'x'.repeat(400_000) };
    for (let second = 0; second < count; second++) scene.log.add({ createdAt: at(second / 60), request });
  }

  it('reads a page only after the client has read the previous page, and none for a client that left', async () => {
    addLargeRecords(130);
    const reader = ((await scene.get('/api/logs/export?format=jsonl')).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    await expect.poll(() => scene.gateway.running.size).toBe(0);
    expect(scene.log.pages).toHaveLength(1);
  });

  it('reads no page for a client that left while a search found nothing', async () => {
    const leaving = new AbortController();
    let reads = 0;
    let isLeft = (): boolean => false;
    scene.log.exportRows = async (_query, { signal }) => {
      reads++;
      isLeft = () => signal?.aborted === true;
      await pause(1);
      return { data: [], next: 'more' };
    };
    const asked = scene
      .ask('/api/logs/export?format=jsonl&q=rare', { signal: leaving.signal })
      .then(async (response) => await response.text());
    await expect.poll(() => reads).toBeGreaterThan(2);
    leaving.abort();
    await expect(asked).rejects.toThrow('aborted');
    await expect.poll(() => scene.gateway.running.size).toBe(0);
    const before = reads;
    await pause(50);
    expect([reads - before, isLeft()]).toEqual([0, true]);
  });

  it('breaks off where the store fails, so that an incomplete file does not look complete', async () => {
    addLargeRecords(60);
    const response = await scene.get('/api/logs/export?format=jsonl');
    scene.log.fail(new Error('the disk is gone'));
    await expect(response.text()).rejects.toThrow('other side closed');
  });

  it('refuses an unknown format', async () =>
    expect(await scene.read('/api/logs/export?format=xlsx')).toMatchObject({ status: 400, body: { error: { param: 'format' } } }));
});

describe('a cell', () => {
  it.each([
    ['=HYPERLINK("http://evil.example")', `"'=HYPERLINK(""http://evil.example"")"`],
    ['+1+1', `'+1+1`],
    ['-2+3', `'-2+3`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `"'\t=1"`],
    ['\r=1', `"'\r=1"`],
    ['\uFF1D1+1', `'\uFF1D1+1`],
    // in many languages, spreadsheets split cells at semicolons, ignore quotes within a cell, and begin a row at each line break
    [`x;=cmd|' /C calc'!A0;y`, `x;'=cmd|' /C calc'!A0;y`],
    ['x;"=1+1', `"x;'""=1+1"`],
    ['x; @SUM(A1)', `x;' @SUM(A1)`],
    ['two\n=1+1', `"two\n'=1+1"`],
    ['two\r\n+1;-1', `"two\r\n'+1;'-1"`],
  ])('that a spreadsheet would run is text: %j', (text, cell) => expect(csvCell(text)).toBe(cell));

  it.each<[string | number | boolean | null, string]>([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    [' blank', '" blank"'],
    [-5, '-5'],
    [null, ''],
    [true, 'true'],
    ['a;b; c=d', 'a;b; c=d'],
    ['a=b-c+d@e', 'a=b-c+d@e'],
    ['', ''],
  ])('keeps %j', (value, cell) => expect(csvCell(value)).toBe(cell));

  it('never begins like a formula, for any content', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.constantFrom('=', '+', '-', '@', '\t', '\r').chain((first) => fc.string().map((rest) => first + rest)),
        ),
        (text) => {
          const cell = csvCell(text);
          const shown = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
          expect(shown).not.toMatch(/^[\t\r]|(?:^|[;\r\n])["\s]*[=+\-@]/);
          expect(shown.replaceAll("'", '')).toBe(text.replaceAll("'", ''));
        },
      ),
    );
  });
});
