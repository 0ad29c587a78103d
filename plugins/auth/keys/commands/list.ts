/** The table of `gateway keys`, and its warnings. */
import type { CommandRun } from '../../../../core/host/command.ts';
import { exactDollars } from '../../../../core/money.ts';
import { jsonText, minuteText, tableOf } from '../../../../core/table.ts';
import type { Column } from '../../../../core/table.ts';
import type { ShownKey, ShownKeys } from '../shown.ts';

const day = 86_400_000;
/** How long before its end the command warns of a key, as the start does. */
const warnBeforeMs = 7 * day;

export function printKeys({ data: keys, store }: ShownKeys, { json, print, say }: Pick<CommandRun<never>, 'json' | 'print' | 'say'>): void {
  const isAway = store === 'away';
  if (isAway) {
    say(
      "warning: the database that keeps callers' keys does not answer now. Keys of the store may be missing in this list, and when a key was last used is not known.\n",
    );
  }
  if (json) return print(jsonText(keys));
  if (keys.length === 0 && isAway) return print('The config has no keys.\n');
  if (keys.length === 0) {
    return print('There are no keys. gateway keys create makes one for the config, gateway keys add one in the store.\n');
  }
  print(tableOf(keys, columnsOf(isAway ? 'not known' : 'never')));
  const now = Date.now();
  for (const key of keys) {
    const left = endOf(key) - now;
    if (key.disabled || left > warnBeforeMs) continue;
    const what = left <= 0 ? 'has expired' : `expires in ${spanOf(left)}`;
    say(`warning: ${key.name} ${what}; see gateway keys rotate${key.expires === null ? '' : ', and its `expires`'}\n`);
  }
}

const spanOf = (ms: number): string => (ms < day ? 'less than a day' : ms < 2 * day ? 'a day' : `${Math.floor(ms / day)} days`);

/** When the last of the keys expires; infinite where one never does. */
const endOf = ({ expires, keys }: ShownKey): number => Math.min(momentOf(expires), Math.max(...keys.map((one) => momentOf(one.expires))));

const momentOf = (date: string | null): number => (date === null ? Infinity : Date.parse(date));

/** @param unused the text for a key without any known use */
const columnsOf = (unused: string): readonly Column<ShownKey>[] => [
  { title: 'NAME', read: ({ name }) => name.slice(0, 60) },
  { title: 'SOURCE', read: ({ source, writtenAt }) => (source === 'yaml' ? (writtenAt ?? 'yaml') : 'store') },
  { title: 'PREFIX', read: ({ prefix }) => prefix ?? '' },
  { title: 'LAST USED (UTC)', read: ({ lastUsedAt }) => (lastUsedAt === null ? unused : minuteText(lastUsedAt)) },
  { title: 'EXPIRES', read: (key) => (endOf(key) === Infinity ? 'never' : minuteText(new Date(endOf(key)).toISOString())) },
  { title: 'LIMITS', read: ({ limits }) => limitText(limits) },
  { title: 'STATE', read: (key) => stateOf(key) },
];

const stateOf = (key: ShownKey): string => whyRefused(key) ?? (key.keys.length > 1 ? `${key.keys.length} keys` : 'good');

/** Why requests with this key are refused now; null: they are served. */
export function whyRefused(key: ShownKey): string | null {
  if (key.isShadowed) return 'not taken: the config has this name';
  if (key.disabled) return 'disabled';
  return endOf(key) <= Date.now() ? 'expired' : null;
}

function limitText(limits: ShownKey['limits']): string {
  if (limits === null) return '';
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent, budget } = limits;
  const parts = [
    requests !== undefined && `${requests} requests/min`,
    tokens !== undefined && `${tokens} tokens/min`,
    concurrent !== undefined && `${concurrent} at once`,
    budget !== undefined && `${exactDollars(budget.dollars)}/${budget.per}`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}
