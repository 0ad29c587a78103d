/** A gateway with one example plugin in front of a scripted provider. */
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../_kit/gateway.ts';
import type { Setup, TestGateway } from '../_kit/gateway.ts';
import { startUpstream } from '../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../_kit/upstream.ts';

export async function withExample(
  name: string,
  {
    options = {},
    steps = [],
    more = {},
    setup = {},
  }: { options?: object; steps?: readonly Step[]; more?: Record<string, unknown>; setup?: Partial<Setup> } = {},
): Promise<{ gateway: TestGateway; upstream: ScriptedUpstream }> {
  const upstream = await startUpstream(...steps);
  onTestFinished(() => upstream.close());
  const use = resolve(import.meta.dirname, '../../examples', `${name}.ts`);
  const gateway = await testGateway({
    config: oneUpstream(upstream.url, { plugins: [...quietPlugins, { use, with: options }], ...more }),
    ...setup,
  });
  onTestFinished(() => gateway.close());
  return { gateway, upstream };
}
