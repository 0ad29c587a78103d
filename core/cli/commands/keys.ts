/** `gateway keys create`: the one moment in which a key is seen. */
import { createApiKey } from '../../api-key.ts';
import type { KeyFlags } from '../command-line.ts';
import type { Output } from './logs.ts';

export function createKey({ name: given, json }: KeyFlags, { print }: Pick<Output, 'print'>): void {
  const { key, id, hash } = createApiKey();
  const name = given ?? `key-${id}`;
  if (json) return print(`${JSON.stringify({ name, key, hash }, null, 2)}\n`);
  return print([
    key,
    '',
    'It is shown this once: give it to who will call, who sends it as "Authorization: Bearer <key>". The config gets its hash:',
    '',
    'keys:',
    // JSON in quotes is YAML too
    `  - name: ${JSON.stringify(name)}`,
    `    hash: ${hash}`,
    '',
  ].join('\n'));
}
