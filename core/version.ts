import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of the package, for example `0.1.0`, from the nearest package.json above this file. */
export const version: string = (() => {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    try {
      return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
    } catch (error) {
      if (dirname(folder) === folder) throw error;
    }
  }
})();
