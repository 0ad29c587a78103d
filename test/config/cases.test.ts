/** Each file of `cases/` is a config with faults; the comments at its end are the messages of `loadConfig`. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { headline } from '../../config/problems.ts';
import { readQuickYaml } from '../../config/yaml/quick.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const folder = new URL('cases/', import.meta.url);
const separator = '# --- expect ---\n';
const env = { SET: 'value-set-in-the-environment', LONGER: 'value-set-in-the-environment-too', OTHER: 'other', NUMBER: '64' };

/** A comment that makes the quick reader leave a text to the YAML parser. */
const unusual = '# <<\n';

async function saidOf(yaml: string): Promise<string> {
  const place = folderOf({ 'gateway.config.yaml': yaml });
  const file = join(place, 'gateway.config.yaml');
  const loaded = await loadConfig(file, options(env));
  const lines = loaded.ok ? loaded.warnings.map((warning) => `warning ${headline(warning)}`) : loaded.problems.map(headline);
  return lines.map((line) => `# ${line.replace(`${file}:`, '').replaceAll(`${place}/`, '').replaceAll(place, '<folder>')}\n`).join('');
}

describe('a faulty config file', () => {
  test.each(readdirSync(folder))('%s', async (name) => {
    const [yaml = '', expected = ''] = readFileSync(new URL(name, folder), 'utf8').split(separator);
    expect(await saidOf(yaml)).toBe(expected);
    if (readQuickYaml(yaml) !== null) expect(await saidOf(yaml + unusual)).toBe(expected);
    expect(expected).not.toBe('');
  });
});
