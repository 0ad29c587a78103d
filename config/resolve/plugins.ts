/** `plugins`: loaded, in order, their options checked against their own schemas. */
import { dirname } from 'node:path';
import type { PluginEntry } from '../../core/config.ts';
import type { AnyPlugin, LoadedPlugin } from '../../core/host/plugin.ts';
import { writtenAs } from '../expand.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';
import { validateOptions } from '../validate.ts';

export interface PluginLoader {
  loadPlugin(use: string, baseDir: string): Promise<AnyPlugin>;
  /** Where the file has no `plugins` list. */
  readonly shippedPlugins: readonly string[];
}

export interface PluginSet {
  readonly loaded: readonly LoadedPlugin[];
  /** As the file has them: defaults filled in, and references not followed, so that what they hide stays hidden. */
  readonly entries: readonly PluginEntry[];
  /** Every entry was one, and was loaded. */
  readonly isComplete: boolean;
}

interface Wanted {
  readonly use: string;
  readonly options: Record<string, unknown>;
  /** Where its options are, or would be. */
  readonly path: Path;
  readonly place: Place;
}

/** Loads what the main file lists. Runs before the files are validated: dialects of plugins take part in that. */
export async function resolvePlugins(main: Reading, loader: PluginLoader, findings: Findings): Promise<PluginSet> {
  const loaded: LoadedPlugin[] = [];
  const entries: PluginEntry[] = [];
  const wanted = wantedPlugins(main, loader.shippedPlugins);
  const { plugins: list = loader.shippedPlugins } = main.value;
  let isComplete = Array.isArray(list) && list.length === wanted.length;
  for (const { use, options, path, place } of wanted) {
    try {
      const plugin = await loader.loadPlugin(use, dirname(main.source.file));
      validateOptions({ reading: main, base: path, value: options }, plugin, findings);
      loaded.push({ plugin, options });
      entries.push({ use, with: asWritten(options, path, main) as Record<string, unknown> });
    } catch (thrown) {
      isComplete = false;
      findings.error(place, (thrown as Error).message);
    }
  }
  return { loaded, entries, isComplete };
}

function wantedPlugins({ source, value }: Reading, shipped: readonly string[]): Wanted[] {
  const list = value['plugins'];
  if (list === undefined) return shipped.map((use) => ({ use, options: {}, path: ['plugins'], place: { source, path: [] } }));
  return (Array.isArray(list) ? (list as unknown[]) : []).flatMap((item, index): Wanted[] => {
    const path = ['plugins', index, 'with'];
    if (typeof item === 'string' && item !== '') return [{ use: item, options: {}, path, place: { source, path: ['plugins', index] } }];
    const { use, with: options = {} } = (item ?? {}) as { use?: unknown; with?: unknown };
    const isWhole = typeof use === 'string' && use !== '' && typeof options === 'object' && options !== null && !Array.isArray(options);
    return isWhole ? [{ use, options: structuredClone(options) as Record<string, unknown>, path, place: { source, path: ['plugins', index, 'use'] } }] : [];
  });
}

function asWritten(value: unknown, path: Path, reading: Reading): unknown {
  if (Array.isArray(value)) return value.map((item, index) => asWritten(item, [...path, index], reading));
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asWritten(item, [...path, key], reading)]));
  return writtenAs(reading.source, reading.expansion, path) ?? value;
}
