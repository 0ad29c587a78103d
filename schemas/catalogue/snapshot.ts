/**
 * Fetches pi-ai and keeps its figures of the catalogue's models in `pi-ai.json`.
 * The package is no dependency, because it brings 130 MB of SDKs along.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { overrides, type PiModel, type PiPrices, piKey } from './sources.ts';

/** A model as pi-ai writes it. */
interface Theirs {
  readonly id: string;
  readonly type: string;
  readonly cost: PiPrices & { readonly tiers?: readonly (PiPrices & { readonly inputTokensAbove: number })[] };
  readonly contextWindow: number;
  readonly maxTokens: number;
}

/** Writes `pi-ai.json`. @param mappings provider and external id of each mapping of the catalogue */
export function refresh(mappings: readonly (readonly [providerId: string, externalId: string])[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'pi-ai-'));
  execFileSync('npm', ['pack', `@earendil-works/pi-ai@${overrides.pi_ai}`, '--pack-destination', folder, '--silent'], { stdio: 'inherit' });
  execFileSync('sh', ['-c', 'tar xzf *.tgz'], { cwd: folder });
  const kept: Record<string, PiModel> = {};
  for (const [providerId, externalId] of mappings) {
    const theirs = overrides.providers[providerId]?.pi;
    const model = theirs === undefined ? undefined : modelsOf(join(folder, `package/dist/providers/data/${theirs}.json`)).get(externalId);
    if (theirs !== undefined && model !== undefined) kept[piKey(theirs, externalId)] = figures(model);
  }
  rmSync(folder, { recursive: true });
  const lines = Object.entries(kept)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, model]) => `  ${JSON.stringify(key)}: ${JSON.stringify(model)}`);
  writeFileSync(new URL('pi-ai.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`);
}

function modelsOf(file: string): Map<string, Theirs> {
  if (!existsSync(file)) throw new Error(`pi-ai ${overrides.pi_ai} has no ${file}`);
  const groups = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, Theirs>>;
  return new Map(
    Object.values(groups)
      .flatMap((models) => Object.values(models))
      .filter(({ type }) => type === 'chat')
      .map((model) => [model.id, model]),
  );
}

function figures({ cost: { tiers = [], ...cost }, contextWindow, maxTokens }: Theirs): PiModel {
  return {
    ...cost,
    context: contextWindow,
    maxOutput: maxTokens,
    ...(tiers.length > 0 && { tiers: tiers.map(({ inputTokensAbove, ...prices }) => ({ above: inputTokensAbove, ...prices })) }),
  };
}
