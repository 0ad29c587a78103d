/** `/api/keys`: lists the keys of callers, and makes and changes those of the store. Needs admin access. */
import { within } from '../../../core/cancellation.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Endpoint, EndpointRequest, Routes } from '../../../core/http/routes.ts';
import type { NumberedKeyEvent } from '../../../core/log/keys.ts';
import type { Budget } from '../../../core/limits.ts';
import { parseSpan } from '../../../core/log/query.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { bodyFields, requireJson, text, wrongValue } from '../../../core/wire/checks.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { parseJson } from '../../../core/wire/json.ts';
import { KeyChanges } from './changes.ts';
import type { Author, ChangeParts } from './changes.ts';
import { givenSettings, keyName, onlyKnown, settingNames } from './settings.ts';
import type { KeyLimits, KeySettings } from './settings.ts';
import { shownKept, shownKeys, usesOf } from './shown.ts';
import type { ShownKey, ShownKeys } from './shown.ts';

export interface RouteParts extends ChangeParts {
  reader(): LogReader | null;
  readonly isGuarded: boolean;
}

/** A key that was made: `key` is shown only in this answer. */
export interface MadeKey extends ShownKey {
  readonly key: string;
}

/** One line of the audit list. */
export interface AuditLine extends Omit<NumberedKeyEvent, 'at' | 'details'> {
  /** ISO time. */
  readonly at: string;
  /** What was set. */
  readonly details: object;
}

export interface AuditList {
  /** Newest first. */
  readonly data: readonly AuditLine[];
  /** The value for `before`; null: there are no older lines. */
  readonly next: number | null;
}

/** A setting that is absent is not changed; null resets it to its default. */
export type ChangedKey = { readonly [Name in Exclude<keyof KeySettings, 'limits'>]?: KeySettings[Name] | null } & {
  readonly limits?: GivenLimits | null;
};

export interface GivenLimits extends Omit<KeyLimits, 'budget'> {
  readonly budget?: Omit<Budget, 'unknown'> & Partial<Pick<Budget, 'unknown'>>;
}

export type NewKey = ChangedKey & {
  /** Absent: the key gets a generated name. */
  readonly name?: string | null;
};

export interface RotatedKey {
  /** How long the former key stays valid: 24h where absent, 0 for not at all. */
  readonly overlap?: string | null;
}

export interface RemovedKey {
  readonly id: string;
  readonly deleted: true;
}

const about = {
  list: { summary: 'The keys of callers, and how they were used in the last 30 days', answer: { 'application/json': 'ShownKeys' } },
  audit: {
    summary: 'Who has changed which key, when and from where',
    query: { name: 'Only changes of the key with this name.', limit: '1 to 500; 100 where absent.', before: '`next` of the page before.' },
    answer: { 'application/json': 'AuditList' },
  },
  create: { summary: 'Make a key. It is shown only here', body: 'NewKey', answer: { 'application/json': 'MadeKey' }, status: [201] },
  change: { summary: 'Change settings of a key of the store', body: 'ChangedKey', answer: { 'application/json': 'ShownKey' } },
  rotate: {
    summary: 'Make a new key under the same name; the former one stays valid for a while',
    body: 'RotatedKey',
    answer: { 'application/json': 'MadeKey' },
  },
  remove: { summary: 'Delete a key of the store', answer: { 'application/json': 'RemovedKey' } },
} satisfies Readonly<Record<string, About>>;

const answer = (value: object, status = 200): Answer => json(value, { status, headers: protective });
const mostLines = 500;
/** The list shows what this process knows where the database is slower than this. */
const refreshMs = 1500;

export function addKeyRoutes(routes: Routes, parts: RouteParts): void {
  const changes = new KeyChanges(parts);
  const endpoints: readonly Endpoint[] = [
    { method: 'GET', path: '/api/keys', about: about.list, handle: async () => answer(await listed(parts)) },
    { method: 'GET', path: '/api/keys/audit', about: about.audit, handle: async ({ query }) => answer(await auditOf(parts, query)) },
    { method: 'POST', path: '/api/keys', about: about.create, handle: (request) => create(request, changes, parts) },
    { method: 'PATCH', path: '/api/keys/:id', about: about.change, handle: (request) => change(request, changes, parts) },
    { method: 'POST', path: '/api/keys/:id/rotate', about: about.rotate, handle: (request) => rotate(request, changes, parts) },
    { method: 'DELETE', path: '/api/keys/:id', about: about.remove, handle: (request) => remove(request, changes) },
  ];
  for (const endpoint of endpoints) routes.add({ ...endpoint, auth: 'admin' });
}

async function create(request: EndpointRequest, changes: KeyChanges, parts: RouteParts): Promise<Answer> {
  const { name = null, ...fields } = await fieldsOf(request, ['name', ...settingNames]);
  const made = await changes.create(name === null ? null : keyName('name', name), givenSettings(fields), authorOf(request));
  return answer({ ...shown(made.name, parts), key: made.key } satisfies MadeKey, 201);
}

async function change(request: EndpointRequest, changes: KeyChanges, parts: RouteParts): Promise<Answer> {
  const given = givenSettings(await fieldsOf(request, settingNames));
  if (Object.keys(given).length === 0) {
    throw new GatewayError('invalid_request', `The body changes no setting. The settings are ${settingNames.join(', ')}.`);
  }
  const { id = '' } = request.params;
  await changes.change(id, given, authorOf(request));
  return answer(shown(id, parts));
}

async function rotate(request: EndpointRequest, changes: KeyChanges, parts: RouteParts): Promise<Answer> {
  const { overlap } = await fieldsOf(request, ['overlap']);
  const made = await changes.rotate(request.params['id'] ?? '', overlapOf(overlap), authorOf(request));
  return answer({ ...shown(made.name, parts), key: made.key } satisfies MadeKey);
}

async function remove(request: EndpointRequest, changes: KeyChanges): Promise<Answer> {
  const { id = '' } = request.params;
  await changes.remove(id, authorOf(request));
  return answer({ id, deleted: true } satisfies RemovedKey);
}

/** A key of the store as it is now. Throws where it has just been deleted. */
function shown(name: string, { kept, keys }: RouteParts): ShownKey {
  const found = kept().get(name);
  if (found === undefined) throw new GatewayError('key_not_found', `The key "${name.slice(0, 100)}" has just been deleted.`);
  return shownKept(found, keys.isWritten(name));
}

async function listed(parts: RouteParts): Promise<ShownKeys> {
  const { keys, kept, reader, clock, isGuarded } = parts;
  const log = reader();
  const store = log?.keys === undefined ? 'none' : await readNow(parts);
  const names = keys.all().map(({ name }) => name);
  const uses = await usesOf(names, log, clock());
  const data = shownKeys(keys, kept().all(), uses);
  return { data, isOpen: !isGuarded, open: isGuarded ? null : (uses.use.get(null) ?? null), store };
}

/** Reads the keys of the store once more; `away`: the store does not answer in time. */
async function readNow({ kept, table }: RouteParts): Promise<'good' | 'away'> {
  const read = kept().refresh(table());
  const isRead = read.then(() => true).catch(() => false);
  return (await within(isRead, refreshMs, false)) ? 'good' : 'away';
}

async function auditOf({ table }: RouteParts, query: URLSearchParams): Promise<AuditList> {
  const number = (name: string, most: number): number | null => {
    const given = query.get(name);
    if (given === null) return null;
    if (!/^\d{1,15}$/.test(given) || Number(given) < 1 || Number(given) > most) {
      throw wrongValue(name, `must be a number from 1 to ${most}`);
    }
    return Number(given);
  };
  const limit = number('limit', mostLines) ?? 100;
  const name = query.get('name');
  // PostgreSQL refuses this character, and the error would look like a database that is away
  if (name?.includes('\0') === true) throw wrongValue('name', 'cannot hold the character U+0000');
  const events = await table().events({ name, before: number('before', Number.MAX_SAFE_INTEGER), limit });
  const data = events.map(({ at, details, ...event }): AuditLine => ({
    ...event,
    at: new Date(at).toISOString(),
    details: JSON.parse(details) as object,
  }));
  return { data, next: data.length === limit ? (data.at(-1)?.id ?? null) : null };
}

/** The fields of a body; a body that is absent has none. */
async function fieldsOf(request: EndpointRequest, known: readonly string[]): Promise<Fields> {
  requireJson(request.arrived.headers);
  const bytes = await request.body();
  const fields = bytes.length === 0 ? {} : bodyFields(parseJson(bytes, 16));
  onlyKnown(fields, known);
  return fields;
}

/** The author of a change: a browser says where its request comes from, and the commands of the gateway send their name. */
function authorOf({ arrived: { headers }, address }: EndpointRequest): Author {
  if (headers['sec-fetch-site'] !== undefined || headers['cookie'] !== undefined) return { by: 'dashboard', address };
  return { by: headers['user-agent']?.startsWith('gateway/') === true ? 'cli' : 'api', address };
}

const usualOverlapMs = 86_400_000;

function overlapOf(value: unknown): number {
  if (value === undefined || value === null) return usualOverlapMs;
  const written = text('overlap', value);
  return written === '0' ? 0 : parseSpan('overlap', written);
}
