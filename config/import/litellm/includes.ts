/** The other files of a config, which LiteLLM joins with it (https://docs.litellm.ai/docs/proxy/config_management). */
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { textsOf } from '../foreign.ts';
import type { Foreign } from '../foreign.ts';

/** The entries of a list that one file added: those from `first` on. */
interface Brought {
  readonly file: Foreign;
  readonly first: number;
}

/**
 * A config with all that it includes: lists are joined in order; for any other key, the last file that has the key counts.
 * An included file may include others. All names of files are relative to the config.
 * @param read throws where a file cannot be read
 */
export function withIncludes(config: Foreign, read: (file: string) => Foreign): Foreign {
  const value: Record<string, unknown> = { ...config.value };
  delete value['include'];
  const brought = new Map<string, Brought[]>();
  const pathsIn = (from: Foreign): string[] =>
    textsOf(from.value['include']).map((name) => (isAbsolute(name) ? name : join(dirname(config.name), name)));
  const paths = pathsIn(config);
  const seen = new Set([resolve(config.name)]);
  for (const path of paths) {
    if (seen.has(resolve(path))) continue;
    seen.add(resolve(path));
    const file = read(path);
    paths.push(...pathsIn(file));
    for (const [key, own] of Object.entries(file.value)) {
      if (key === 'include') continue;
      const before = value[key];
      const goesOn = Array.isArray(before) && Array.isArray(own);
      brought.set(key, [...(goesOn ? (brought.get(key) ?? []) : []), { file, first: goesOn ? before.length : 0 }]);
      value[key] = goesOn ? [...before, ...own] : own;
    }
  }
  return {
    name: config.name,
    value,
    spotOf([key = '', at, ...below]) {
      const { file, first } = brought.get(String(key))?.findLast((one) => typeof at !== 'number' || at >= one.first) ?? {
        file: config,
        first: 0,
      };
      return file.spotOf([key, ...(at === undefined ? [] : [typeof at === 'number' ? at - first : at]), ...below]);
    },
  };
}
