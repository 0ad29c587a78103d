import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { compose } from '../../schemas/compose.ts';
import {
  referenceFile,
  schemaFile,
  schemaText,
  shippedPlugins,
  shippedSchemas,
  validatorsFile,
  validatorsText,
} from '../../schemas/generate.ts';
import { referenceText } from '../../schemas/reference.ts';
import { rootValidator } from '../../config/validate/validate.ts';
import type { Accepts } from '../../config/validate/validator.ts';
import { pathText } from '../../config/problems.ts';

const committed = readFileSync(schemaFile, 'utf8');

/** Paths of all `properties` without a description. */
function undescribed(schema: unknown, path: (string | number)[] = []): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, below]: [string, unknown]) => {
    const silent =
      path.at(-1) === 'properties' && path.at(-2) !== 'properties' && typeof (below as { description?: unknown }).description !== 'string';
    return [...(silent ? [pathText([...path, key])] : []), ...undescribed(below, [...path, key])];
  });
}

/** Paths of all numbers without a limit. */
function unlimited(schema: unknown, path: (string | number)[] = []): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maximum, exclusiveMaximum } = schema as Record<string, unknown>;
  const isNumber = [type].flat().some((one) => one === 'integer' || one === 'number');
  const isOpen = isNumber && typeof (maximum ?? exclusiveMaximum) !== 'number';
  return [...(isOpen ? [pathText(path)] : []), ...Object.entries(schema).flatMap(([key, below]) => unlimited(below, [...path, key]))];
}

/** The paths at which a validator found the last value invalid. */
const placesIn = ({ errors }: Accepts): Set<string> => new Set(errors?.map(({ instancePath }) => instancePath));

describe('the compiled validators', () => {
  test('are up to date with `npm run generate`', async () => {
    expect(readFileSync(validatorsFile, 'utf8')).toBe(validatorsText(await shippedSchemas()));
  });

  test.each([[[]], [['region', 'project']]])(
    'accept and fill in the same values as Ajv, with the settings %j of dialects too',
    (settings) => {
      const { accepts, explains } = rootValidator(settings);
      expect(accepts).not.toBe(explains());
      const values = [
        {},
        { server: {} },
        { server: { port: 70000 } },
        { models: [{ id: 'a', providers: [{ providerId: 'b' }] }] },
        { more: 1 },
        [],
        null,
        { providers: { own: { rooms: '4' } } },
      ];
      const verdicts = values.map((value) => {
        const [one, other] = [structuredClone(value), structuredClone(value)];
        const isValid = accepts(one);
        expect(explains()(other)).toBe(isValid);
        expect(placesIn(accepts)).toEqual(placesIn(explains()));
        expect(one).toEqual(other);
        return isValid;
      });
      expect(verdicts).toEqual([true, true, false, true, false, false, false, false]);
    },
  );

  test('are enough for the shipped config, although most of its providers lack their variables', () => {
    const seen =
      'import { createRequire } from "node:module"; process.on("exit", () => console.error(Object.keys(createRequire("file:///gateway.mjs").cache).filter((file) => file.includes("/ajv/dist/core")).length))';
    const { PATH } = process.env;
    const { stderr, status } = spawnSync(process.execPath, ['--import', `data:text/javascript,${seen}`, 'core/main.ts', 'check'], {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { PATH },
      encoding: 'utf8',
    });
    expect([status, stderr.trim().split('\n').at(-1)]).toEqual([0, '0']);
  });

  test('leave the settings of a dialect that is not shipped to Ajv', () => {
    const { accepts } = rootValidator(['rooms']);
    expect([{ rooms: '4' }, { roofs: '1' }].map((provider) => accepts({ providers: { own: provider } }))).toEqual([true, false]);
  });
});

describe('gateway.schema.json', () => {
  test('is up to date with `npm run generate`', async () => {
    expect(committed).toBe(schemaText(await shippedPlugins()));
  });

  test('is the source of docs/configuration.md, which is up to date', async () => {
    expect(readFileSync(referenceFile, 'utf8')).toBe(referenceText(await shippedPlugins()));
  });

  test('has a largest value for each number', () => {
    expect(unlimited(JSON.parse(committed))).toEqual([]);
  });

  test('describes every property', () => {
    expect(undescribed(JSON.parse(committed))).toEqual([]);
  });

  test.each(['gateway.config.yaml', 'config/catalogue/mock.yaml', 'config/catalogue/openai.yaml'])(
    'accepts the shipped %s',
    async (file) => {
      const names = (
        parse(readFileSync(new URL('../../gateway.config.yaml', import.meta.url), 'utf8')) as { plugins: (string | { use: string })[] }
      ).plugins.map((entry) => (typeof entry === 'string' ? entry : entry.use));
      const validate = new Ajv({ strict: false }).compile(
        compose(names.map((name) => ({ name, summary: name, schema: { type: 'object' } }))),
      );
      validate(parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')));
      expect(validate.errors).toBeNull();
    },
  );
});

describe('composing', () => {
  const limited = {
    name: 'log/limited',
    summary: 'Keeps little.',
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['days'],
      properties: { days: { type: 'integer', description: 'How long.' } },
    },
  };
  const plain = { name: 'auth/plain', summary: 'Lets in.', schema: { type: 'object', additionalProperties: false } };
  const validate = new Ajv({ strict: false }).compile(compose([limited, plain]));

  test.each([
    [true, 'auth/plain'],
    [true, { use: 'auth/plain' }],
    [true, { use: 'log/limited', with: { days: 1 } }],
    [true, './mine.ts'],
    [true, { use: '/opt/mine.ts', with: { anything: true } }],
    [false, 'log/limited'],
    [false, { use: 'log/limited' }],
    [false, { use: 'auth/plain', with: { days: 1 } }],
    [false, 'auth/plian'],
  ])('makes a schema that gives %s for %j', (isValid, entry) => {
    expect(validate({ plugins: [entry] })).toBe(isValid);
  });

  const own = new Ajv({ strict: false }).compile(
    compose([limited, plain, { ...limited, name: './quota.ts' }, { ...plain, name: '@acme/gateway-quota' }], ['tenant']),
  );

  test.each([
    [
      true,
      {
        plugins: [
          { use: './quota.ts', with: { days: 1 } },
          '@acme/gateway-quota',
          './other.ts',
          { use: './other.ts', with: { days: 'x' } },
        ],
      },
    ],
    [false, { plugins: [{ use: './quota.ts', with: { days: 'x' } }] }],
    [false, { plugins: ['./quota.ts'] }],
    [false, { plugins: [{ use: '@acme/gateway-quota', with: { days: 1 } }] }],
    [true, { providers: { up: { tenant: 'a' } } }],
    [false, { providers: { up: { tennant: 'a' } } }],
  ])('makes a schema that gives %s for %j, with plugins of one’s own', (isValid, config) => {
    expect(own(config)).toBe(isValid);
  });

  test('does not depend on the order of plugins', () => {
    expect(schemaText([plain, limited])).toBe(schemaText([limited, plain]));
  });
});
