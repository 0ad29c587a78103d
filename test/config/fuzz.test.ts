/** Configs with random mistakes: loading never throws, each message has a place in the file, and no message quotes a secret. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { runs } from '../_kit/fuzz.ts';
import { options } from './plugins.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-fuzz-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** In the text each secret is one character, so that no change splits a secret. No secret is a part of a longer word. */
const secrets = [
  'sk-S3CRETadmin0a1b2c3d4e',
  'gwk_S3CRETcaller1a2b3c4d',
  'sk-S3CRETprovider2a3b4c5d',
  'sk-S3CRETpassword3a4b5c6d',
  'sk-S3CRETbearer4a5b6c7d8e',
  'sk-S3CRETphrase5a6b7c8d9e',
  'sk-S3CREToption6a7b8c9d0e',
];
const env = { S3CRET: 'sk-S3CRETvariable7a8b9c0d' };
const markOf = (index: number): string => String.fromCharCode(0xe100 + index);
const isPart = (text: string, index: number): boolean => /[\w\uE100-\uE106-]/.test(text.charAt(index));
const withSecrets = (text: string): string =>
  text.replaceAll(
    /[\uE100-\uE106]/g,
    (mark, index: number) =>
      `${isPart(text, index - 1) ? ' ' : ''}${secrets[mark.charCodeAt(0) - 0xe100]}${isPart(text, index + 1) ? ' ' : ''}`,
  );

const marks = secrets.map((_, index) => markOf(index));
const yaml = `# a config with everything
server:
  host: 127.0.0.1
  port: 4000
  admin_key: ${marks[0]}
  limits: { body: 1024, header_time_ms: 1000 }
keys:
  - name: team
    key: ${marks[1]}
    models: ["a*", auto]
    metadata: { team: search }
  - { name: other, hash: "sha256:${'ab'.repeat(32)}" }
providers:
  openai: { api_key: ${marks[2]}, base_url: "https://user:${marks[3]}@host.example/v1" }
  groq:
    api_key: \${S3CRET}
    headers: { authorization: "Bearer ${marks[4]}" }
    trains_on_data: false
  cloud: { dialect: cloud, deployment: x, passphrase: '${marks[5]}' }
  mock: {}
models:
  - &one
    id: a
    aliases: [b, c]
    description: |
      some text
      and more
    pricing: { prompt: "0.000001", completion: "0.000002" }
    providers: [{ providerId: openai, externalId: a-1, tools: true }, { providerId: groq }]
  - id: d
    free: true
    providers:
      - providerId: mock
routing:
  default: { strategy: ordered, max_attempts: 3, timeout_ms: { connect: 5000, total: 9000 } }
  models:
    auto: { candidates: [a, d], strategy: cheapest }
plugins:
  - auth/keys
  - stream/mock
  - dialects/openai-chat
  - dialects/cloud
  - use: log/journal
    with: { store: postgres, url: "postgres://bob:${marks[6]}@db:5432/log", retention_days: 30 }
`;
const json = JSON.stringify(parse(yaml), null, 2);
/** Secrets that only the name of their setting marks as secrets. */
const plain = ['topsecretone', 'topsecrettwo', 'topsecretthree'];
const withPlain = yaml
  .replace(marks[0] as string, 'topsecretone')
  .replace(marks[1] as string, 'topsecrettwo')
  .replace(marks[2] as string, 'topsecretthree');

const put = fc.constantFrom(
  '',
  '"',
  "'",
  ':',
  ': ',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '\n',
  '  ',
  '\t',
  '#',
  '&a ',
  '*one',
  '*a',
  '!!binary ',
  '!!str ',
  '! ',
  '|',
  '>',
  '|\n',
  '---\n',
  '...\n',
  '%YAML 9.9\n',
  '${',
  '${NAME}',
  '${S3CRET}',
  '${S3CRET:-x}',
  '${file:/nothing}',
  '${file:.}',
  '$$',
  '\0',
  '\u2028',
  '\ufeff',
  '~',
  'null',
  '1e999',
  '-1',
  '0x10',
  '.inf',
  '2026-01-01',
  '<<: *one',
  '__proto__: 1\n',
  '\\u0024',
  '\ud800',
  '? ',
  ',',
  '\r',
  '\r\n',
  'x'.repeat(5000),
  '9'.repeat(400),
  'toString',
  'é',
  '@',
  '`',
  ...marks,
);
type Change = (text: string) => string;
const at = (text: string, place: number): number => place % (text.length + 1);
const inLines =
  (change: (lines: string[], place: number) => void) =>
  (place: number): Change =>
  (text) => {
    const lines = text.split('\n');
    change(lines, place % lines.length);
    return lines.join('\n');
  };
const lineChange = fc
  .tuple(
    fc.nat(),
    fc.constantFrom(
      inLines((lines, place) => void lines.splice(place, 1)),
      inLines((lines, place) => void lines.splice(place, 0, lines[place] as string)),
      inLines((lines, place) => void lines.splice(place, 2, ...lines.slice(place, place + 2).toReversed())),
      inLines((lines, place) => void (lines[place] = `  ${lines[place]}`)),
      inLines((lines, place) => void (lines[place] = (lines[place] as string).slice(2))),
      inLines((lines, place) => void (lines[place] = (lines[place] as string).replace(/(:\s+)(.*)$/, '$1\n$2'))),
    ),
  )
  .map(([place, change]) => change(place));
const change: fc.Arbitrary<Change> = fc.oneof(
  lineChange,
  fc.tuple(fc.nat(), fc.nat(6), put).map(
    ([place, length, text]): Change =>
      (all) =>
        all.slice(0, at(all, place)) + text + all.slice(at(all, place) + length),
  ),
  fc.tuple(fc.nat(), put).map(([place, text]): Change => (all) => {
    const words = Array.from(all.matchAll(/[\w./*-]+|[\uE100-\uE106]/g));
    const word = words[place % Math.max(1, words.length)];
    return word === undefined ? all : all.slice(0, word.index) + text + all.slice(word.index + word[0].length);
  }),
  fc.nat().map(
    (place): Change =>
      (all) =>
        all.slice(0, at(all, place)),
  ),
);
const file = fc
  .tuple(fc.constantFrom(yaml, json, yaml, JSON.stringify(parse(yaml))), fc.array(change, { minLength: 1, maxLength: 4 }))
  .map(([text, changes]) => changes.reduce((all, one) => one(all), text));

/** Each message about a file with this text has a place in the file and no secret. */
async function expectSound(text: string): Promise<void> {
  const path = join(folder, 'gateway.config.yaml');
  const whole = withSecrets(text);
  writeFileSync(path, whole);
  const loaded = await loadConfig(path, options(env));
  const told = loaded.ok ? loaded.warnings : loaded.problems;
  const lines = whole.toWellFormed().split(/\r\n|\n/);
  for (const { file: named, line, col, length, message } of told) {
    expect(named).toBe(path);
    expect(message).not.toBe('');
    expect(length).toBeGreaterThan(0);
    expect([line >= 1 && line <= lines.length, col >= 1 && col <= (lines[line - 1] ?? '').length + 1], `${line}:${col} ${message}`).toEqual(
      [true, true],
    );
  }
  if (!loaded.ok) expect(told.length).toBeGreaterThan(0);
  const said = formatProblems(told) + JSON.stringify(told);
  for (const secret of [...secrets, ...plain, env.S3CRET]) expect(said).not.toContain(secret);
}

describe('a config with random changes', () => {
  it('is read, or refused with a place in the file and without a secret', async () => {
    await expectSound(yaml);
    await expectSound(json);
    await fc.assert(fc.asyncProperty(file, expectSound), runs(250));
  }, 600_000);
});

describe('a config whose lines were moved', () => {
  it('shows no secret that only its setting marks', async () => {
    const breaks = fc.nat().map((place): Change => (text) => {
      const after = Array.from(text.matchAll(/[:,{["] ?/g), ({ index, 0: { length } }) => index + length);
      const where = after[place % after.length] ?? 0;
      return `${text.slice(0, where)}\n${' '.repeat(place % 13)}${text.slice(where)}`;
    });
    const joins = fc.nat().map((place): Change => (text) => {
      const ends = Array.from(text.matchAll(/\n/g), ({ index }) => index);
      const where = ends[place % ends.length] ?? 0;
      return `${text.slice(0, where)} ${text.slice(where + 1)}`;
    });
    const moved = fc
      .array(fc.oneof(breaks, joins), { minLength: 1, maxLength: 4 })
      .map((changes) => changes.reduce((all, one) => one(all), withPlain));
    await fc.assert(fc.asyncProperty(moved, expectSound), runs(100));
  }, 600_000);
});

describe('a config that a random run found', () => {
  const hidden = 'topsecretvalue';
  it.each([
    ['in a list below its setting', `providers:\n  openai:\n    secret_access_key:\n      [${hidden}]\nmodels: []\n`],
    ['twice in a list of keys', `providers:\n  openai:\n    api_key: [${hidden}, ${hidden}]\nmodels: []\n`],
    ['in a map below its setting', `providers:\n  openai: { api_key:\n     { a: ${hidden} } }\nmodels: []\n`],
    ['in a list of keys', `keys:\n- ${hidden}\nmodels: []\n`],
    ['in a list of keys, as JSON', `{"keys": [\n  "${hidden}"\n]}\n`],
    ['in a map that is a key', `providers:\n  openai: {{ api_key: ${hidden} }}\nmodels: []\n`],
    ['in a map that is the name of an entry', `providers:\n  ? { api_key: ${hidden} }\n  : 1\nmodels: []\n`],
    ['after another setting of its line', `server:\n  port: 4000   admin_key: ${hidden}\n`],
    ['after a comment that swallowed a line', `# a comment server:\n  port: 4000\n  admin_key: ${hidden}\n`],
    ['that begins like a text of several lines', `server:\n  admin_key: >${hidden}\n`],
    ['below its setting, and not indented', `providers:\n  openai: { api_key:\n${hidden}, base_url: x }\n`],
    ['that begins like an alias', `server:\n  admin_key: *${hidden}\n`],
  ])('shows no secret %s', async (_, text) => {
    const path = join(folder, 'found.yaml');
    writeFileSync(path, text);
    const warnings: Error[] = [];
    const keep = (warning: Error): void => void warnings.push(warning);
    process.on('warning', keep);
    const loaded = await loadConfig(path, options());
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', keep);
    expect(loaded.ok).toBe(false);
    expect(formatProblems(loaded.ok ? [] : loaded.problems) + JSON.stringify(loaded)).not.toContain(hidden);
    expect(warnings.map(String)).toEqual([]);
  });

  it.each([
    ['keys:\n- nmae: search\n  key: topsecretvalue\nmodels: []\n', '2 | - nmae: search'],
    ['keys:\n  - key: ${S3CRET}\n    mdoels: [a]\nmodels: []\n', '3 |     mdoels: [a]'],
  ])('shows the parts of keys that are not secret: %j', async (text, shown) => {
    const path = join(folder, 'found.yaml');
    writeFileSync(path, text);
    const loaded = await loadConfig(path, options(env));
    expect(loaded.ok ? '' : formatProblems(loaded.problems)).toContain(shown);
  });
});
