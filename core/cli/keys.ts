/** `gateway keys create`: prints a new key. Only its hash is kept, so nothing can print the key again. */
import { createApiKey } from '../api-key.ts';
import { UsageError } from '../exit.ts';
import type { Output } from '../host/command.ts';
import { jsonText } from '../table.ts';

interface NewKey {
  /** Null: the key gets a name of its own. */
  readonly name: string | null;
  readonly json: boolean;
}

export function createKey({ name: given, json }: NewKey, { print }: Pick<Output, 'print'>): void {
  if (given === '') throw new UsageError('--name must not be empty');
  const { key, id, hash } = createApiKey();
  const name = given ?? `key-${id}`;
  if (json) return print(jsonText({ name, key, hash }));
  return print(
    [
      key,
      '',
      'The key is shown only this once. The caller sends it as "Authorization: Bearer <key>". The config gets its hash:',
      '',
      'keys:',
      // a JSON string is a YAML string too
      `  - name: ${JSON.stringify(name)}`,
      `    hash: ${hash}`,
      '',
    ].join('\n'),
  );
}
