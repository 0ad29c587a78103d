/**
 * The same 50 requests through LiteLLM's proxy, and through this gateway with the config that `gateway import litellm`
 * makes of LiteLLM's. Behind both is one scripted provider, which must get the same calls. LiteLLM is installed from PyPI.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run as runGateway, start } from '../_kit/executable.ts';
import { litellmProxyOf, versions } from './clients/tools.ts';
import type { Subject } from './figures.ts';
import { comparison, outcomesOf, startVendors } from './litellm/calls.ts';
import { configOf, requests } from './litellm/config.ts';
import type { Request } from './litellm/config.ts';
import { startLitellm } from './litellm/proxy.ts';

const masterKey = 'sk-the-key-of-this-bench-and-of-nothing-else';

const ask =
  (url: string) =>
  ({ path, body }: Request): Promise<Response> =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(body),
    });

/** The imported config, and its variables for the secrets of LiteLLM's config. */
async function importedConfig(folder: string): Promise<{ readonly text: string; readonly variables: Readonly<Record<string, string>> }> {
  const out = join(folder, 'gateway.config.yaml');
  const { code, stderr } = await runGateway(['import', 'litellm', join(folder, 'config.yaml'), '--out', out]);
  if (code !== 0) throw new Error(`gateway import ended with ${code}\n${stderr}`);
  const text = readFileSync(out, 'utf8');
  const wanted = Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => name);
  return { text, variables: Object.fromEntries(wanted.map((name) => [name, name === 'LITELLM_MASTER_KEY' ? masterKey : 'k'])) };
}

const nameOf = ({ path, body }: Request): string =>
  `${path.slice('/v1/'.length)} ${String(body['model'])}: ${Object.keys(body)
    .filter((name) => name !== 'model')
    .join(', ')}`;

export default {
  name: 'litellm',
  about: `${requests.length} requests through LiteLLM ${versions.python.litellm} and through what \`gateway import\` makes of its config: same calls of the provider`,
  async measure() {
    const command = await litellmProxyOf();
    if (command === null) return [{ what: `LiteLLM ${versions.python.litellm}`, gateway: 'not run: no Python with venv and pip' }];
    const folder = mkdtempSync(join(tmpdir(), 'gateway-litellm-'));
    const vendors = await startVendors();
    writeFileSync(join(folder, 'config.yaml'), configOf(vendors.url, masterKey));
    const litellm = await startLitellm(command, folder);
    const theirs = await outcomesOf(requests, vendors, ask(litellm.url));
    await litellm.stop();
    const { text, variables } = await importedConfig(folder);
    const gateway = await start(text, variables);
    const ours = await outcomesOf(requests, vendors, ask(gateway.url));
    await gateway.stop();
    await vendors.close();
    rmSync(folder, { recursive: true, force: true });
    return comparison(requests.map(nameOf), theirs, ours);
  },
} satisfies Subject;
