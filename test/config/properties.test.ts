import { distance } from 'fastest-levenshtein';
import * as fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { nearest } from '../../core/names.ts';
import { gatewaySchema } from '../../schemas/gateway.ts';
import { modelSchema } from '../../schemas/models.ts';
import { providerSchema } from '../../schemas/providers.ts';
import { serverSchema } from '../../schemas/server.ts';
import { anyText, runs } from '../_kit/fuzz.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const letter = fc.stringMatching(/^[a-z_]$/);

/** One typing mistake: a letter inserted, deleted, replaced, or two letters swapped. */
const mistyped = (word: string): fc.Arbitrary<string> =>
  fc.tuple(fc.nat(word.length - 1), letter, fc.constantFrom('insert', 'delete', 'replace', 'swap')).map(([at, other, kind]) => {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    if (kind === 'insert') return before + other + after;
    if (kind === 'delete') return before + after.slice(1);
    if (kind === 'replace') return before + other + after.slice(1);
    return before + after.charAt(1) + after.charAt(0) + after.slice(2);
  });

describe('a key with one typing mistake', () => {
  test.each([
    ['root', gatewaySchema],
    ['server', serverSchema],
    ['a provider', providerSchema],
    ['a model', modelSchema],
  ])('is recognised at %s', (_, { properties }) => {
    const known = Object.keys(properties);
    const isOnlyNeighbour = (name: string, word: string): boolean => !known.some((other) => other !== word && distance(name, other) <= 2);
    const misspelt = fc
      .constantFrom(...known.filter((word) => word.length > 2))
      .chain((word) => mistyped(word).map((name) => ({ word, name })));
    fc.assert(
      fc.property(misspelt, ({ word, name }) => {
        fc.pre(!known.includes(name) && isOnlyNeighbour(name, word));
        expect(nearest(name, known)).toBe(word);
      }),
    );
  });
});

describe('a text without references', () => {
  const scalar = fc
    .oneof(anyText({ minLength: 1 }), fc.stringMatching(/^[${}:\-a-z "'#]+$/))
    .filter((text) => !text.includes('${') && !text.includes('$$'));

  test('is read unchanged', async () => {
    const file = join(folderOf({}), 'gateway.config.yaml');
    await fc.assert(
      fc.asyncProperty(scalar, async (text) => {
        writeFileSync(
          file,
          stringify({ providers: { mock: {} }, models: [{ id: 'a', description: text, free: true, providers: [{ providerId: 'mock' }] }] }),
        );
        const loaded = await loadConfig(file, options());
        expect(loaded.ok && loaded.config.models[0]?.description).toBe(text);
      }),
      runs(200),
    );
  });
});
