/** A gateway with limits and a scripted provider, and a clock that only the test moves. */
import { onTestFinished } from 'vitest';
import type { States } from '../../../../core/host/state.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';

/** A Sunday. */
export const noon = Date.parse('2026-03-01T12:00:00Z');

export interface Scene {
  readonly gateway: TestGateway;
  readonly upstream: ScriptedUpstream;
  readonly clock: { now: number };
}

export interface SceneSetup {
  readonly limits?: readonly object[];
  readonly more?: Record<string, unknown>;
  readonly step?: Step;
  readonly states?: States;
  readonly plugins?: readonly AnyPlugin[];
  readonly clock?: { now: number };
  readonly config?: (url: string) => Record<string, unknown>;
}

/** 10 tokens of prompt at $0.000001, 5 of answer at $0.000002. */
export const costOfOne = '0.00002';

export async function scene({
  limits = [],
  more = {},
  step = answers(completion('Hello.')),
  states,
  plugins = [],
  clock = { now: noon },
  config,
}: SceneSetup): Promise<Scene> {
  const upstream = await startUpstream(step);
  const base = config?.(upstream.url) ?? oneUpstream(upstream.url, { limits, ...more });
  const gateway = await testGateway({ config: base, plugins, clock: () => clock.now, ...(states && { states }) });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  return { gateway, upstream, clock };
}

/** Holds every answer until `letGo`. */
export function gate(): { readonly step: Step; letGo(): void; readonly waiting: () => number } {
  const held: (() => void)[] = [];
  let isOpen = false;
  const answer = answers(completion('Hello.'));
  return {
    step: (response, asked) => {
      if (isOpen) void answer(response, asked);
      else held.push(() => void answer(response, asked));
    },
    letGo() {
      isOpen = true;
      for (const go of held.splice(0)) go();
    },
    waiting: () => held.length,
  };
}

export const errorOf = async (response: Response): Promise<{ code: string; message: string; type: string }> =>
  ((await response.json()) as any).error;

/** The number of replies with each status. */
export const tally = (responses: readonly Response[]): Record<string, number> => {
  const found: Record<string, number> = {};
  for (const { status } of responses) found[status] = (found[status] ?? 0) + 1;
  return found;
};

export const statusOf = async (asked: Promise<Response>): Promise<number> => {
  const response = await asked;
  await response.text();
  return response.status;
};
