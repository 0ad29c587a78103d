/** Resolves `keys`. Only the hashes of the keys stay in memory. */
import { earliest, momentOf, prefixOf, shortestKey } from '../../core/api-key.ts';
import type { KeyEntry, KeyHash } from '../../core/api-key.ts';
import { fitsSome } from '../../core/names.ts';
import type { Askable } from '../../core/names.ts';
import { minuteText } from '../../core/table.ts';
import type { KeyBlock } from '../../schemas/keys.ts';
import { sha256 } from '../fingerprint.ts';
import type { Entries, Entry } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { Findings, Place } from '../problems.ts';
import { lineOf } from '../source.ts';
import type { Path } from '../source.ts';
import { resolveAmounts } from './limits.ts';

/**
 * Resolves the entries that passed the schema. An entry with both `key` and `hash`, or with neither, and two entries with the
 * same key are faults; a glob that matches no name, and a key that has expired or soon will, are warnings.
 */
export function resolveKeys(entries: Entries<KeyBlock>, askable: () => Askable, findings: Findings): KeyEntry[] {
  const check: Check = { owners: new Map(), askable, findings };
  return [...entries.values()].filter(({ isSound }) => isSound).flatMap((entry) => resolveKey(entry, check) ?? []);
}

interface Check {
  /** The name of the entry that has a key, by the hash of the key. */
  readonly owners: Map<string, string>;
  readonly askable: () => Askable;
  readonly findings: Findings;
}

/** Null: the entry has no key. */
function resolveKey(entry: Entry<KeyBlock>, check: Check): KeyEntry | null {
  const { findings } = check;
  const { name, expires, disabled, models = null, metadata, cache, limits } = entry.value;
  const { log_bodies: logBodies, reasoning_fields: reasoningFields = null } = entry.value;
  checkFields(entry, findings);
  const expiresAt = momentAt(placeOf(entry, 'expires'), expires, findings);
  const hashes = secretsOf(entry).map((secret) => hashOf(entry, secret, { ...check, expiresAt }));
  if (hashes.length === 0) return null;
  warnOfEnd(entry, hashes, findings);
  warnOfGlobs(entry, check);
  return {
    name,
    hashes,
    expiresAt,
    disabled,
    since: null,
    writtenAt: () => lineOf(entry.reading.source, entry.path),
    models,
    metadata: Object.fromEntries(Object.entries(metadata).map(([one, value]) => [one.toLowerCase(), value])),
    logBodies,
    cache,
    reasoningFields,
    limits: limits === undefined ? null : resolveAmounts(limits, (...inside) => placeOf(entry, 'limits', ...inside), findings),
  };
}

function checkFields(entry: Entry<KeyBlock>, findings: Findings): void {
  const { name, key, hash } = entry.value;
  if (key !== undefined && hash !== undefined) {
    findings.error(keyOf(entry, 'hash'), 'has both `key` and `hash`', 'leave one of them out');
  }
  if (key === undefined && hash === undefined) {
    findings.error(placeOf(entry), 'needs `key` or `hash`', 'for example key: ${SEARCH_KEY}');
  }
  // safety: responses and kept answers belong to the name of a key, so the holder of this key would
  // get those of the dashboard's playground, and the playground would get those of the holder
  if (name === 'dashboard') {
    findings.error(placeOf(entry, 'name'), '"dashboard" is the name under which the dashboard itself asks', 'choose another');
  }
}

interface Written {
  /** Inside the entry. */
  readonly path: Path;
  readonly digest: string;
  readonly prefix: string | null;
  /** A date of its own. */
  readonly expires: string | undefined;
  readonly isBlank: boolean;
  /** True: the key can be guessed. */
  readonly isShort: boolean;
}

/** The keys of an entry, each by its hash. */
function secretsOf({ value: { key, hash } }: Entry<KeyBlock>): Written[] {
  const field = key === undefined ? 'hash' : 'key';
  const given = key ?? hash ?? [];
  const placed = typeof given === 'string' ? [{ one: given, path: [field] }] : given.map((one, at) => ({ one, path: [field, at] }));
  return placed.map(({ one, path }) => {
    const text = typeof one === 'string' ? one : 'key' in one ? one.key : one.hash;
    const own = typeof one === 'string' ? { path, expires: undefined } : { path: [...path, field], expires: one.expires };
    if (field === 'hash') return { ...own, digest: text.slice('sha256:'.length), prefix: null, isBlank: false, isShort: false };
    const bare = text.trim();
    return { ...own, digest: sha256(bare), prefix: prefixOf(bare), isBlank: bare === '', isShort: bare.length < shortestKey };
  });
}

/** One key of an entry. A key that is weak, or that another entry has too, is reported to `findings`. */
function hashOf(entry: Entry<KeyBlock>, secret: Written, { owners, findings, expiresAt }: Check & Pick<KeyEntry, 'expiresAt'>): KeyHash {
  const { path, digest, prefix, expires, isBlank, isShort } = secret;
  const place = placeOf(entry, ...path);
  // safety: blanks around a key do not count, so without this check an empty header would match this key
  if (isBlank) findings.error(place, 'must not be empty', makeOne);
  else if (isShort) findings.warn(place, `is shorter than ${shortestKey} characters, so it can be guessed`, makeOne);
  const owner = owners.get(digest);
  if (owner !== undefined) findings.error(place, `is also the key of "${owner}"`, 'give each entry a key of its own');
  owners.set(digest, entry.value.name);
  const own = momentAt(placeOf(entry, ...path.slice(0, -1), 'expires'), expires, findings);
  return { hash: digest, prefix, expiresAt: earliest(expiresAt, own) };
}

const makeOne = 'take one that `gateway keys create` makes';

/** The moment of a date; null: there is no date. A text that is not a date is reported to `findings`. */
function momentAt(place: Place, text: string | undefined, findings: Findings): number | null {
  if (text === undefined) return null;
  const moment = momentOf(text);
  if (moment === null) findings.error(place, `"${text}" is not a date`, 'write it as 2027-01-31 or 2027-01-31T18:00:00Z');
  return moment;
}

const day = 86_400_000;
/** How long before its end the gateway warns of a key. */
const warnBeforeMs = 7 * day;

/** Warns of an entry whose last key has expired or soon will. Of several keys, the old ones are meant to expire. */
function warnOfEnd(entry: Entry<KeyBlock>, hashes: readonly KeyHash[], findings: Findings): void {
  const last = Math.max(...hashes.map(({ expiresAt }) => expiresAt ?? Infinity));
  const left = last - Date.now();
  if (entry.value.disabled || left > warnBeforeMs) return;
  const when = minuteText(new Date(last).toISOString());
  const what = left <= 0 ? `expired on ${when} UTC and is refused` : `expires on ${when} UTC`;
  findings.warn(placeOf(entry), `the key "${entry.id}" ${what}`, 'see `gateway keys rotate`');
}

function warnOfGlobs(entry: Entry<KeyBlock>, { askable, findings }: Check): void {
  entry.value.models?.forEach((glob, index) => {
    if (!fitsSome(glob, askable())) findings.warn(placeOf(entry, 'models', index), `"${glob}" matches no model`);
  });
}
