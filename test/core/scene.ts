/** Gateways and upstreams of one test, closed at its end. */
import { onTestFinished } from 'vitest';
import type { AnyPlugin, Gateway } from '../../core/host/plugin.ts';
import type { Setup, TestGateway } from '../_kit/gateway.ts';
import { testGateway } from '../_kit/gateway.ts';
import type { ScriptedUpstream, Step } from '../_kit/upstream.ts';
import { answers, completion, startUpstream } from '../_kit/upstream.ts';

/** A scripted provider; it answers `hello` where no steps are given. */
export async function provider(...steps: Step[]): Promise<ScriptedUpstream> {
  const up = await startUpstream(...(steps.length === 0 ? [answers(completion('hello'))] : steps));
  onTestFinished(() => up.close());
  return up;
}

export async function gatewayOf(config: Record<string, unknown>, more: Omit<Setup, 'config'> = {}): Promise<TestGateway> {
  const gateway = await testGateway({ config, ...more });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** A plugin of one test: `test/probe`, or the name given. */
export const probe = (apply: (gateway: Gateway) => unknown, name = 'test/probe'): AnyPlugin => ({
  name,
  summary: 'a plugin of one test',
  schema: {},
  apply: (gateway) => apply(gateway) as ReturnType<AnyPlugin['apply']>,
});

export interface WireError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

export const errorOf = async (response: Response): Promise<WireError> => ((await response.json()) as { error: WireError }).error;

export const contentOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? '';

/** Routing with short limits, tried in order, each target once. */
export const routing = (timeouts: Record<string, number> = {}, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  routing: { default: { strategy: 'ordered', timeout_ms: timeouts, retry: { same_target: 0 }, ...more } },
});
