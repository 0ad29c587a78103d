/** What `gateway db status` prints; test/e2e/log.test.ts runs it on a real store. */
import { describe, expect, it } from 'vitest';
import { showDatabase } from '../../../../plugins/log/journal/commands.ts';
import { stateOf } from '../../../../plugins/log/journal/store/migrations.ts';

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
  it('says that everything works', async () =>
    expect(await shown([true])).toBe('store  sqlite logs.db\nstate  up to date\n    1  applied  step 1\n'));

  it('says how many records wait, and what to do', async () =>
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
