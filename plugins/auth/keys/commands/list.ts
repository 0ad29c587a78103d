/** The table of `gateway keys`, and what it warns of. */
import type { CommandRun } from '../../../../core/host/command.ts';
import { tableOf } from '../../../../core/table.ts';
import type { Column } from '../../../../core/table.ts';
import type { ShownKey } from '../shown.ts';

const day = 86_400_000;
/** How long before its end a key is warned of, as at the start. */
const warnBeforeMs = 7 * day;

export function printKeys(keys: readonly ShownKey[], { json, print, say }: Pick<CommandRun<never>, 'json' | 'print' | 'say'>): void {
  if (json) return print(`${JSON.stringify(keys, null, 2)}\n`);
  if (keys.length === 0) return print('There are no keys. gateway keys create makes one for the config, gateway keys add one in the store.\n');
  print(tableOf(keys, columns));
  const now = Date.now();
  for (const key of keys) {
    const left = endOf(key) - now;
    if (!key.disabled && left <= warnBeforeMs) say(`warning: ${key.name} ${left <= 0 ? 'has expired' : `expires in ${left < day ? 'less than a day' : `${Math.floor(left / day)} days`}`}; see gateway keys rotate${key.expires === null ? '' : ', and its `expires`'}\n`);
  }
}

/** When the last of its keys ends; infinite where it does not. */
const endOf = ({ expires, keys }: ShownKey): number => Math.min(momentOf(expires), Math.max(...keys.map((one) => momentOf(one.expires))));

const momentOf = (date: string | null): number => (date === null ? Infinity : Date.parse(date));

const columns: readonly Column<ShownKey>[] = [
  { title: 'NAME', read: ({ name }) => name.slice(0, 60) },
  { title: 'SOURCE', read: ({ source, writtenAt }) => (source === 'yaml' ? (writtenAt ?? 'yaml') : 'store') },
  { title: 'PREFIX', read: ({ prefix }) => prefix ?? '' },
  { title: 'LAST USED (UTC)', read: ({ lastUsedAt }) => lastUsedAt?.slice(0, 16).replace('T', ' ') ?? 'never' },
  { title: 'EXPIRES', read: (key) => (endOf(key) === Infinity ? 'never' : new Date(endOf(key)).toISOString().slice(0, 16).replace('T', ' ')) },
  { title: 'LIMITS', read: ({ limits }) => limitText(limits) },
  { title: 'STATE', read: stateOf },
];

function stateOf(key: ShownKey): string {
  if (key.isShadowed) return 'not taken: the config has this name';
  if (key.disabled) return 'disabled';
  if (endOf(key) <= Date.now()) return 'expired';
  return key.keys.length > 1 ? `${key.keys.length} keys` : 'good';
}

function limitText(limits: ShownKey['limits']): string {
  if (limits === null) return '';
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent, budget } = limits;
  return [requests === undefined ? null : `${requests} requests/min`, tokens === undefined ? null : `${tokens} tokens/min`, concurrent === undefined ? null : `${concurrent} at once`, budget === undefined ? null : `$${budget.dollars}/${budget.per}`].filter((part) => part !== null).join(', ');
}
