/** Resolves `plugins`: loads each plugin in the order of the list, and checks its options against its own schema. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { PluginEntry } from '../../core/config.ts';
import { isPath } from '../../core/host/loader.ts';
import type { AnyPlugin, LoadedPlugin } from '../../core/host/plugin.ts';
import { isFields, listOf } from '../../core/wire/fields.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';
import { lineOf, locate } from '../source.ts';
import type { Path } from '../source.ts';
import { validateOptions } from '../validate/validate.ts';

/** How plugins are found. */
export interface PluginLoader {
  /** Loads one plugin; `baseDir` is the folder of the config file. Throws an `Error` whose message says what is wrong. */
  loadPlugin(use: string, baseDir: string): Promise<AnyPlugin>;
  /** The list that counts where the file has no `plugins`. */
  readonly shippedPlugins: readonly string[];
}

/** A plugin with its name in the file: `auth/keys`, `./quota.ts` or `@acme/gateway-quota`. */
export interface NamedPlugin {
  readonly use: string;
  readonly plugin: AnyPlugin;
}

/** The plugins of a configuration. */
export interface PluginSet {
  readonly loaded: readonly LoadedPlugin[];
  /** The entries as the file writes them, with defaults filled in. References are not expanded, so secrets stay hidden. */
  readonly entries: readonly PluginEntry[];
  /** Each plugin that could be loaded, with its name in the file. Its options may have faults. */
  readonly named: readonly NamedPlugin[];
  /** Whether every entry of the list is well formed and its plugin was loaded. */
  readonly isComplete: boolean;
  /** Absolute paths in entries where no file exists. */
  readonly absent: readonly string[];
}

interface WantedPlugin {
  readonly use: string;
  readonly options: Record<string, unknown>;
  /** The path of the plugin's options, even if the file has none. */
  readonly path: Path;
  /** Where a fault of the plugin is shown. */
  readonly place: Place;
}

/**
 * Loads the plugins that the main file lists. Runs before the files are validated, because the dialects of the plugins add to
 * the schema. A plugin that cannot be loaded is reported to `findings`.
 */
export async function resolvePlugins(main: Reading, loader: PluginLoader, findings: Findings): Promise<PluginSet> {
  const loaded: LoadedPlugin[] = [];
  const entries: PluginEntry[] = [];
  const named: NamedPlugin[] = [];
  const folder = dirname(main.source.file);
  const wanted = wantedPlugins(main, loader.shippedPlugins);
  const { plugins: list = loader.shippedPlugins } = main.value;
  const places = new Map<string, Place>();
  const speakers = new Map<string, string>();
  let isComplete = Array.isArray(list) && list.length === wanted.length;
  for (const { use, options, path, place } of wanted) {
    try {
      const plugin = await loader.loadPlugin(use, folder);
      const other = places.get(plugin.name);
      if (other !== undefined) {
        findings.error(place, `the plugin "${plugin.name}" is listed twice`, `the other one is at ${lineOf(other.source, other.path)}`);
      }
      places.set(plugin.name, place);
      named.push({ use, plugin });
      reportSpokenTwice(plugin, place, { speakers, findings });
      validateOptions({ reading: main, base: path, value: options }, plugin, findings);
      loaded.push({ plugin, options, ...(place.path.length > 0 && { writtenAt: () => placeText(place) }) });
      entries.push({ use, with: asWritten(options, path, main) as Record<string, unknown> });
    } catch (thrown) {
      isComplete = false;
      findings.error(place, (thrown as Error).message);
    }
  }
  const absent = wanted
    .filter(({ use }) => isPath(use))
    .map(({ use }) => resolve(folder, use))
    .filter((file) => !existsSync(file));
  return { loaded, entries, named, isComplete, absent };
}

/** Reports a dialect that two plugins have or answer for: the order of the plugins would decide which of the two a provider gets. */
function reportSpokenTwice(
  { name, dialects = [], serves = [] }: AnyPlugin,
  place: Place,
  { speakers, findings }: { speakers: Map<string, string>; findings: Findings },
): void {
  for (const dialect of [...dialects.map((one) => one.name), ...serves]) {
    const other = speakers.get(dialect) ?? name;
    if (other !== name) {
      findings.error(
        place,
        `${name} has the dialect "${dialect}", and ${other} has it too`,
        'give the dialect another name, or leave one of the two plugins out',
      );
    }
    speakers.set(dialect, other);
  }
}

function wantedPlugins({ source, value }: Reading, shipped: readonly string[]): WantedPlugin[] {
  const list = value['plugins'];
  if (list === undefined) return shipped.map((use) => ({ use, options: {}, path: ['plugins'], place: { source, path: [] } }));
  return listOf(list).flatMap((item, index): WantedPlugin[] => {
    const path = ['plugins', index, 'with'];
    if (typeof item === 'string' && item !== '') return [{ use: item, options: {}, path, place: { source, path: ['plugins', index] } }];
    const { use, with: options = {} } = (item ?? {}) as { use?: unknown; with?: unknown };
    const isWhole = typeof use === 'string' && use !== '' && isFields(options);
    return isWhole ? [{ use, options: structuredClone(options), path, place: { source, path: ['plugins', index, 'use'] } }] : [];
  });
}

function placeText({ source, path }: Place): string {
  const { file, line, col } = locate(source, path, 'value');
  return `${file}:${line}:${col}`;
}

/** A copy of a value in which each expanded scalar has its text from before the expansion. */
function asWritten(value: unknown, path: Path, reading: Reading): unknown {
  if (Array.isArray(value)) return value.map((item, index) => asWritten(item, [...path, index], reading));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asWritten(item, [...path, key], reading)]));
  }
  return reading.expansion.unexpanded(path) ?? value;
}
