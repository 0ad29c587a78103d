/** Warns of settings whose plugin is not listed, because they would silently do nothing. */
import { fieldsOf, listOf } from '../../core/wire/fields.ts';
import type { Fields } from '../../core/wire/fields.ts';
import type { KeyBlock } from '../../schemas/keys.ts';
import type { DefaultPolicyBlock, PolicyBlock } from '../../schemas/routing.ts';
import { keyOf } from '../merge.ts';
import type { Entries } from '../merge.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';

/** The blocks that may have such settings. */
export interface Settings {
  readonly main: Reading;
  readonly policies: Entries<PolicyBlock>;
  readonly keys: Entries<KeyBlock>;
}

interface Reader {
  readonly plugin: string;
  readonly setting: 'limits' | 'alerts' | 'rules' | 'sticky' | 'cache';
  readonly nothing: string;
}

/** The plugins that read a setting, and the effect of the setting without the plugin. */
const readers: readonly Reader[] = [
  { plugin: 'route/limits', setting: 'limits', nothing: 'nothing is limited' },
  { plugin: 'log/alerts', setting: 'alerts', nothing: 'nothing is watched' },
  { plugin: 'route/rules', setting: 'rules', nothing: 'no rule is followed' },
  { plugin: 'route/sticky', setting: 'sticky', nothing: 'requests are not kept on one target' },
  { plugin: 'stream/cache', setting: 'cache', nothing: 'no answer is kept' },
];

/** Warns once for each setting, at the first place that uses it. @param listed the names of the plugins that run */
export function warnOfUnlisted(settings: Settings, listed: ReadonlySet<string>, findings: Findings): void {
  const warn = (place: Place, nothing: string, plugin: string): void =>
    findings.warn(place, `${nothing}, because the plugin ${plugin} is not listed`, 'add it under plugins');
  for (const { plugin, setting, nothing } of readers) {
    const place = listed.has(plugin) ? undefined : placeOf(setting, settings);
    if (place !== undefined) warn(place, nothing, plugin);
  }
  const dollars = listed.has('log/cost') ? undefined : placeOfDollars(settings);
  if (dollars !== undefined) warn(dollars, 'no cost is known', 'log/cost');
}

type Blocks = Readonly<Partial<Record<Reader['setting'], unknown>>>;

/** The first place that uses the setting: a block of its own, the default policy, a policy or a key. */
function placeOf(setting: Reader['setting'], { main, policies, keys }: Settings): Place | undefined {
  const isUsed = (block: Blocks): boolean =>
    Array.isArray(block[setting]) ? block[setting].length > 0 : block[setting] !== undefined && block[setting] !== false;
  const inMain = (...path: Path): Place => ({ source: main.source, path, at: 'key' });
  if (main.value[setting] !== undefined) return inMain(setting);
  const { default: usual } = (main.value['routing'] ?? {}) as { readonly default?: DefaultPolicyBlock };
  if (usual !== undefined && isUsed(usual)) return inMain('routing', 'default', setting);
  const entry = [...policies.values(), ...keys.values()].find(({ value, isSound }) => isSound && isUsed(value));
  return entry === undefined ? undefined : keyOf(entry, setting);
}

/** The first budget, or the first alert in dollars: if no request has a cost, these count nothing. */
function placeOfDollars({ main, keys }: Settings): Place | undefined {
  const limits = rowsOf(main.value['limits']).findIndex((limit) => limit['budget'] !== undefined);
  if (limits >= 0) return { source: main.source, path: ['limits', limits, 'budget'], at: 'key' };
  const key = [...keys.values()].find(({ value, isSound }) => isSound && value.limits?.budget !== undefined);
  if (key !== undefined) return keyOf(key, 'limits', 'budget');
  const rule = rowsOf(fieldsOf(main.value['alerts'])['rules']).findIndex((one) => one['cost_dollars'] !== undefined);
  return rule < 0 ? undefined : { source: main.source, path: ['alerts', 'rules', rule, 'cost_dollars'], at: 'key' };
}

/** The rows of a list, also of one whose faults are reported elsewhere. */
const rowsOf = (list: unknown): readonly Fields[] => listOf(list).map(fieldsOf);
