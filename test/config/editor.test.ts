/** A config file in an editor with the usual YAML extension: the first line of the file is enough. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LanguageServer } from './language-server.ts';
import { startLanguageServer } from './language-server.ts';

const root = new URL('../../', import.meta.url);
const modeline = readFileSync(new URL('gateway.config.yaml', root), 'utf8').split('\n', 1)[0] ?? '';

let server: LanguageServer;
beforeAll(async () => {
  server = await startLanguageServer();
});
afterAll(() => server.stop());

/** Opens a text as a file in the folder of the shipped one; returns `line:col message`, counted from 1, and the uri of the file. */
async function open(name: string, text: string): Promise<{ uri: string; underlined: string[] }> {
  const uri = new URL(name, root).href;
  const found = await server.diagnose(uri, `${modeline}\n${text}`);
  return { uri, underlined: found.map(({ message, range: { start } }) => `${start.line + 1}:${start.character + 1} ${message}`) };
}

describe('an editor', () => {
  test('underlines a misspelt key, once', async () => {
    const { underlined } = await open('a.yaml', 'server:\n  prot: 4000\n');
    expect(underlined).toEqual([expect.stringMatching(/^3:3 .*prot/)]);
  });

  test('underlines no merge key', async () => {
    const { underlined } = await open(
      'm.yaml',
      'providers:\n  one: &one { dialect: openai-chat, base_url: "http://127.0.0.1:1/v1" }\n  two: { <<: *one, api_key: none }\n',
    );
    expect(underlined).toEqual([]);
  });

  test('underlines nothing in the shipped file', async () => {
    const { underlined } = await open('b.yaml', readFileSync(new URL('gateway.config.yaml', root), 'utf8'));
    expect(underlined).toEqual([]);
  });

  test('accepts a reference in place of a number or an address', async () => {
    const { underlined } = await open(
      'e.yaml',
      'server: { port: "${PORT:-4000}" }\nproviders:\n  mine: { dialect: openai-chat, base_url: "${BASE_URL}" }\n',
    );
    expect(underlined).toEqual([]);
  });

  test('accepts a file and an npm package as a plugin, and underlines a misspelt shipped one', async () => {
    const { underlined } = await open(
      'f.yaml',
      'plugins:\n  - ./own.ts\n  - "@acme/gateway-quota"\n  - { use: gateway-quota, with: { limit: 1 } }\n  - auth/keyz\n',
    );
    expect(underlined).toEqual([expect.stringMatching(/^6:5 /)]);
  });

  test('offers the keys of a block', async () => {
    const { uri } = await open('c.yaml', 'server:\n  \n');
    expect(await server.complete(uri, 2, 2)).toEqual(expect.arrayContaining(['port', 'host', 'data_dir']));
  });

  test('offers the shipped plugins', async () => {
    const { uri } = await open('d.yaml', 'plugins:\n  - use: \n');
    const offered = await server.complete(uri, 2, 9);
    expect(offered.filter((label) => /^\w+\/[\w-]+$/.test(label)).length).toBeGreaterThan(0);
  });
});
