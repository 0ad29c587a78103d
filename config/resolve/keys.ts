/** Resolves `keys`. Only the hashes of the keys stay in memory. */
import type { KeyEntry } from '../../core/config.ts';
import { shortestKey } from '../../core/api-key.ts';
import { patternOf } from '../../core/names.ts';
import type { KeyBlock } from '../../schemas/keys.ts';
import { sha256 } from '../fingerprint.ts';
import type { Entries } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { Findings } from '../problems.ts';
import { resolveAmounts } from './limits.ts';

/**
 * Resolves the entries that passed the schema. An entry with both `key` and `hash`, or with neither, and two entries with the
 * same key are faults; a glob that matches no name is a warning.
 * @param names all names that a caller can ask for: root ids, aliases, policies with candidates
 */
export function resolveKeys(entries: Entries<KeyBlock>, names: Iterable<string>, findings: Findings): KeyEntry[] {
  const known = [...names];
  const owners = new Map<string, string>();
  return [...entries.values()].filter(({ isSound }) => isSound).flatMap((entry) => {
    const { name, key, hash, models, metadata: written, log_bodies: logBodies, cache, limits, reasoning_fields: reasoningFields = null } = entry.value;
    if (key !== undefined && hash !== undefined) findings.error(keyOf(entry, 'hash'), 'has both `key` and `hash`', 'leave one of them out');
    if (key === undefined && hash === undefined) findings.error(placeOf(entry), 'needs `key` or `hash`', 'for example key: ${SEARCH_KEY}');
    const digest = key === undefined ? hash?.slice('sha256:'.length) : sha256(key.trim());
    if (digest === undefined) return [];
    const metadata = Object.fromEntries(Object.entries(written).map(([one, value]) => [one.toLowerCase(), value]));
    if (key !== undefined && key.trim().length < shortestKey) findings.warn(placeOf(entry, 'key'), `is shorter than ${shortestKey} characters, so it can be guessed`, 'take one that `gateway keys create` makes');
    const owner = owners.get(digest);
    if (owner !== undefined) findings.error(placeOf(entry, key === undefined ? 'hash' : 'key'), `is also the key of "${owner}"`, 'give each entry a key of its own');
    owners.set(digest, name);
    models?.forEach((glob, index) => {
      const pattern = patternOf(glob);
      if (!known.some((id) => pattern.test(id))) findings.warn(placeOf(entry, 'models', index), `"${glob}" matches no model`);
    });
    return [{ name, hash: digest, models: models ?? null, metadata: Object.fromEntries(Object.entries(metadata).map(([label, value]) => [label.toLowerCase(), value])), logBodies, cache, reasoningFields, limits: limits === undefined ? null : resolveAmounts(limits, (...inside) => placeOf(entry, 'limits', ...inside), findings) }];
  });
}
