import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The package's version, from the package.json above the sources (or above the built package). */
export const version: string = (() => {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    try {
      return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
    } catch (error) {
      if (dirname(folder) === folder) throw error;
    }
  }
})();
