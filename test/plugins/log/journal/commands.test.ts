/** What `gateway db status` prints; test/e2e/log.test.ts runs it on a real store. */
import { describe, expect, it } from 'vitest';
import { showDatabase } from '../../../../plugins/log/journal/commands.ts';

const database = (...applied: boolean[]) => ({ place: 'sqlite logs.db', migrations: async () => applied.map((isApplied, at) => ({ id: at + 1, name: `step ${at + 1}`, isApplied })) });

const shown = async (applied: boolean[], json = false): Promise<string> => {
  let text = '';
  await showDatabase(database(...applied), { json, print: (more) => void (text += more) });
  return text;
};

describe('gateway db status', () => {
  it('says that all is well', async () => expect(await shown([true])).toBe('store  sqlite logs.db\nstate  up to date\n    1  applied  step 1\n'));

  it('says what is waiting, and what to do', async () => expect(await shown([true, false])).toMatch(/1 of 2 migrations are waiting.*gateway db migrate/));

  it('prints JSON for machines', async () => expect(JSON.parse(await shown([true, false], true))).toMatchObject({ store: 'sqlite logs.db', upToDate: false, migrations: [{ id: 1 }, { id: 2, isApplied: false }] }));
});
