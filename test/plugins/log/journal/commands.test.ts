/** What `gateway db status` prints; test/e2e/log.test.ts runs it on a real store. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkStore, showDatabase } from '../../../../plugins/log/journal/commands.ts';
import { stateOf } from '../../../../plugins/log/journal/store/migrations.ts';
import { folder } from './scene.ts';

const database = (...applied: boolean[]) => ({
  place: 'sqlite logs.db',
  migrations: async () => applied.map((isApplied, at) => ({ id: at + 1, name: `step ${at + 1}`, isApplied, isKnown: true })),
});

const shown = async (applied: boolean[], json = false): Promise<string> => {
  let text = '';
  await showDatabase(database(...applied), { json, print: (more) => void (text += more) });
  return text;
};

describe('gateway db status', () => {
  it('says that the store is up to date', async () =>
    expect(await shown([true])).toBe('store  sqlite logs.db\nstate  up to date\n    1  applied  step 1\n'));

  it('says how many migrations wait, and what to do', async () =>
    expect(await shown([true, false])).toMatch(/1 of 2 migrations are waiting.*gateway db migrate/));

  it('says that a newer version has migrated the store', async () => {
    let text = '';
    const newer = {
      place: 'sqlite logs.db',
      migrations: async () =>
        await stateOf(
          async () => [
            { id: 1, name: 'one' },
            { id: 2, name: 'two of a later day' },
          ],
          [{ id: 1, name: 'one', sql: '' }],
        ),
    };
    await showDatabase(newer, { json: false, print: (more) => void (text += more) });
    expect(text).toMatch(
      /state {2}newer than this program: .* 1 migration that this one does not know; go back to that version[^]*1 {2}applied {2}one\n[^]*2 {2}newer {4}two of a later day/,
    );
    await showDatabase(newer, { json: true, print: (more) => void (text = more) });
    expect(JSON.parse(text)).toMatchObject({ upToDate: false, isNewer: true });
  });

  it('prints JSON for machines', async () =>
    expect(JSON.parse(await shown([true, false], true))).toMatchObject({
      store: 'sqlite logs.db',
      upToDate: false,
      migrations: [{ id: 1 }, { id: 2, isApplied: false }],
    }));
});

describe('gateway doctor', () => {
  it.each(['logs.db-wal', 'journal', 'journal/01a229ef-d520-7794-8898-a0bdaf944345'])(
    'names a part of the data directory that this user may not write, because the store looks well without it: %s',
    async (part) => {
      const { path, remove } = folder();
      const closed = join(path, part);
      mkdirSync(dirname(closed), { recursive: true });
      // the kernel refuses a link to itself, as it refuses a file of another user
      symlinkSync(closed, closed);
      expect(await checkStore(path, { store: 'sqlite', retention_days: 0 })).toMatchObject({
        state: 'fault',
        text: `sqlite ${join(path, 'logs.db')} does not get all records, because this user may not read and write ${closed}`,
      });
      rmSync(closed);
      expect(await checkStore(path, { store: 'sqlite', retention_days: 0 })).toMatchObject({ state: 'note' });
      remove();
    },
  );
});
