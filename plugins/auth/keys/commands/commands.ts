/** `gateway keys …`: lists callers' keys, makes and changes those of the store, and says what to write for those of the YAML. */
import { createApiKey } from '../../../../core/api-key.ts';
import type { KeyHash } from '../../../../core/api-key.ts';
import { Exit, UsageError } from '../../../../core/exit.ts';
import type { Command, CommandRun, Flag } from '../../../../core/host/command.ts';
import { spanOfFlag } from '../../../../core/log/query.ts';
import { askableOf, fitsSome } from '../../../../core/names.ts';
import { jsonText, minuteText, secondText, tableOf } from '../../../../core/table.ts';
import type { Column } from '../../../../core/table.ts';
import type { AuditLine, AuditList, MadeKey } from '../routes.ts';
import type { ShownKey, ShownKeys } from '../shown.ts';
import { connect } from './connection.ts';
import type { Asking } from './connection.ts';
import { printKeys, whyRefused } from './list.ts';

type Run = CommandRun<never>;

const store: Flag = { type: 'boolean', help: 'the key of the store, where the config has one of the same name' };
const overlap: Flag = {
  type: 'string',
  value: 'SPAN',
  help: 'how long the former key stays valid beside the new one, such as 2h or 7d; 0 ends it at once (default: 24h)',
};

const settings: Readonly<Record<string, Flag>> = {
  model: { type: 'string', multiple: true, value: 'GLOB', help: 'a model that it may use, such as "gpt-5*"; may be given several times' },
  meta: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'metadata of its requests; may be given several times' },
  expires: { type: 'string', value: 'DATE', help: 'the key is refused from this time on: 2027-01-31, or 2027-01-31T18:00:00Z' },
  'requests-per-minute': { type: 'string', value: 'N', range: [1, 1_000_000_000], help: 'most requests in any 60 seconds' },
  'tokens-per-minute': { type: 'string', value: 'N', range: [1, 1_000_000_000_000], help: 'most tokens in any 60 seconds' },
  concurrent: { type: 'string', value: 'N', range: [1, 1_000_000_000], help: 'most requests at one time' },
  budget: { type: 'string', value: 'DOLLARS/PERIOD', help: 'such as 20/day; day, week, month or total' },
};

export const keyCommands: readonly Command<never>[] = [
  {
    name: 'keys',
    summary: "list callers' keys: where each is kept, when it was last used, when it ends, what limits it",
    examples: ['gateway keys'],
    run: list,
  },
  {
    name: 'keys add',
    summary: "make a caller's key in the store; it is valid at once, in every gateway on that store",
    words: 'NAME',
    flags: settings,
    examples: ['gateway keys add search-team --budget 20/day --model "gpt-5*"'],
    run: add,
  },
  {
    name: 'keys rotate',
    summary: 'make a new key under the same name; the former one stays valid for a while',
    words: 'NAME',
    flags: { overlap, store },
    examples: ['gateway keys rotate search-team --overlap 7d'],
    run: rotate,
  },
  { name: 'keys disable', summary: 'refuse a key for now', words: 'NAME', flags: { store }, run: (run) => turn(run, true) },
  { name: 'keys enable', summary: 'enable a disabled key', words: 'NAME', flags: { store }, run: (run) => turn(run, false) },
  { name: 'keys delete', summary: 'delete a key', words: 'NAME', flags: { store }, run: remove },
  {
    name: 'keys audit',
    summary: 'list who changed which key of the store, when and from where, the newest first',
    flags: { limit: { type: 'string', value: 'N', range: [1, 500], help: 'how many lines (default: 50)' } },
    run: audit,
  },
];

const nameOf = ({ words }: Run, command: string): string => {
  const [name, ...others] = words;
  if (name === undefined || others.length > 0) throw new UsageError(`gateway keys ${command} needs the name of one key`);
  return name;
};

const pathOf = (name: string, more = ''): string => `/api/keys/${encodeURIComponent(name)}${more}`;

async function list(run: Run): Promise<void> {
  const asking = await connect(run);
  printKeys(await keysOf(asking), run);
}

const keysOf = async ({ ask }: Asking): Promise<ShownKeys> => (await ask('GET', '/api/keys')) as ShownKeys;

async function find(asking: Asking, name: string, run: Run): Promise<ShownKey> {
  const { data, store: kept } = await keysOf(asking);
  const found = data.find((key) => key.name === name && (key.source === 'store' || !run.flags.has('store')));
  // a gateway that has started without its store does not know the keys there
  if (found === undefined && kept === 'away') {
    throw new Exit(
      4,
      `Whether there is a key with the name "${name}" is not known: the database that keeps callers' keys does not answer now.`,
    );
  }
  if (found === undefined) throw new Exit(1, `There is no key with the name "${name}"; gateway keys lists them.`);
  return found;
}

async function add(run: Run): Promise<void> {
  const name = nameOf(run, 'add');
  const asking = await connect(run);
  const key = (await asking.ask('POST', '/api/keys', { name, ...givenSettings(run) })) as MadeKey;
  const { models, wildcards, routing } = run.config;
  const askable = askableOf([...models, ...wildcards], routing.models.keys());
  for (const glob of run.flags.all('model')) if (!fitsSome(glob, askable)) run.say(`warning: "${glob}" matches no model of the config\n`);
  made(key, run);
}

function givenSettings({ flags }: Run): object {
  const metadata = Object.fromEntries(
    flags.all('meta').map((pair) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
      if (key === undefined || value === undefined) throw new UsageError(`--meta must be NAME=VALUE, not "${pair}"`);
      return [key, value];
    }),
  );
  const budget = flags.text('budget');
  const [, dollars, per] = /^(\d+(?:\.\d+)?)\/(\w+)$/.exec(budget ?? '') ?? [];
  if (budget !== null && dollars === undefined) throw new UsageError(`--budget must be like 20/day or 0.50/week, not "${budget}"`);
  const limits = {
    requests_per_minute: flags.number('requests-per-minute'),
    tokens_per_minute: flags.number('tokens-per-minute'),
    concurrent: flags.number('concurrent'),
    budget: budget === null ? null : { dollars, per },
  };
  const models = flags.all('model');
  return {
    metadata,
    ...(models.length > 0 && { models }),
    expires: flags.text('expires'),
    ...(Object.values(limits).some((limit) => limit !== null) && { limits }),
  };
}

/** Prints a key that was made. */
function made(key: MadeKey, { json, print }: Run): void {
  if (json) return print(jsonText(key));
  const refused = whyRefused(key);
  print(
    `${key.key}\n\nThe key of "${key.name}" is shown only this once. The caller sends it as "Authorization: Bearer <key>". ${refused === null ? 'It is good now' : `It is refused now: ${refused}`}.\n`,
  );
  const former = key.keys[1]?.expires;
  if (refused === null && typeof former === 'string') print(`The former key is valid until ${minuteText(former)} UTC.\n`);
}

async function rotate(run: Run): Promise<void> {
  const name = nameOf(run, 'rotate');
  const span = run.flags.text('overlap') ?? '24h';
  const overlapMs = span === '0' ? 0 : spanOfFlag('overlap', span);
  const asking = await connect(run);
  const key = await find(asking, name, run);
  if (key.source === 'store') made((await asking.ask('POST', pathOf(name, '/rotate'), { overlap: span })) as MadeKey, run);
  else printRotated(key, overlapMs, run);
}

/** Makes a key for an entry of the config, and says what to write there. */
function printRotated(key: ShownKey, overlapMs: number, run: Run): void {
  const { name } = key;
  const { key: fresh, hash } = createApiKey();
  const former = formerHashes(run.config.keys.find((one) => one.name === name)?.hashes ?? [], overlapMs);
  if (run.json) return run.print(jsonText({ name, key: fresh, hash: [hash, ...former], writtenAt: key.writtenAt }));
  // the new key itself never expires
  const refused = whyRefused({ ...key, keys: [{ prefix: null, createdAt: null, expires: null }] });
  run.print(
    [
      fresh,
      '',
      `The key is shown only this once. Write this at ${key.writtenAt}, in place of the \`key\` or \`hash\` of "${name}":`,
      '',
      // on one line, because an entry between braces takes no list of several lines
      `    hash: [${[hash, ...former.map((one) => `{ hash: ${one.hash}, expires: ${one.expires} }`)].join(', ')}]`,
      '',
      refused === null ? 'The new key is good as soon as the gateway has read the file again.' : `The new key is refused too: ${refused}.`,
      '',
    ].join('\n'),
  );
}

/** The keys that stay valid beside a new one, as the config writes them, without those that have ended. */
function formerHashes(hashes: readonly KeyHash[], overlapMs: number): { readonly hash: string; readonly expires: string }[] {
  const now = Date.now();
  return hashes
    .map(({ hash, expiresAt }) => ({ hash, endsAt: Math.min(expiresAt ?? Infinity, now + overlapMs) }))
    .filter(({ endsAt }) => endsAt > now)
    .map(({ hash, endsAt }) => ({
      hash: `sha256:${hash}`,
      expires: new Date(Math.floor(endsAt / 1000) * 1000).toISOString().replace('.000', ''),
    }));
}

/**
 * The error for a key of the config, which the command cannot change, because the file belongs to its owner.
 * safety: a script that disables a key learns from the exit code that nothing was done
 */
const unchanged = ({ name, writtenAt }: ShownKey, what: string): Exit =>
  new Exit(1, `"${name}" is not changed: it is written at ${writtenAt}. ${what}`);

async function turn(run: Run, disabled: boolean): Promise<void> {
  const name = nameOf(run, disabled ? 'disable' : 'enable');
  const asking = await connect(run);
  const key = await find(asking, name, run);
  if (key.source === 'yaml' && key.disabled !== disabled) {
    throw unchanged(
      key,
      `${disabled ? 'Write this into its entry' : 'Remove this from its entry'}, and save the file:\n\n    disabled: true`,
    );
  }
  const changed = key.source === 'yaml' ? key : ((await asking.ask('PATCH', pathOf(name), { disabled })) as ShownKey);
  if (run.json) return run.print(jsonText(changed));
  if (disabled) return run.print(`The key "${name}" is refused from now on; running requests are completed.\n`);
  const refused = whyRefused(changed);
  run.print(`The key "${name}" is ${refused === null ? 'good again' : `not disabled. It is refused now: ${refused}`}.\n`);
}

async function remove(run: Run): Promise<void> {
  const name = nameOf(run, 'delete');
  const asking = await connect(run);
  const key = await find(asking, name, run);
  if (key.source === 'yaml') throw unchanged(key, 'Delete its entry there, and save the file.');
  const deleted = await asking.ask('DELETE', pathOf(name));
  run.print(run.json ? jsonText(deleted) : `The key "${name}" is deleted.\n`);
}

async function audit(run: Run): Promise<void> {
  const { ask } = await connect(run);
  const { data } = (await ask('GET', `/api/keys/audit?limit=${run.flags.number('limit') ?? 50}`)) as AuditList;
  if (run.json) return run.print(jsonText(data));
  run.print(data.length === 0 ? 'No key of the store has been changed yet.\n' : tableOf(data, auditColumns));
}

const auditColumns: readonly Column<AuditLine>[] = [
  { title: 'WHEN (UTC)', read: ({ at }) => secondText(at) },
  { title: 'WHAT', read: ({ action }) => action },
  { title: 'KEY', read: ({ name }) => name },
  { title: 'BY', read: ({ by }) => by },
  { title: 'FROM', read: ({ address }) => address ?? 'this machine' },
  { title: 'DETAILS', read: ({ details }) => JSON.stringify(details) },
];
