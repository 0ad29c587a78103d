import type { Chunk } from '../../core/chat.ts';
import type { Streaming } from '../../core/pipeline/context.ts';
import { guard } from '../../core/taps/guard.ts';
import { createHooks } from '../../core/pipeline/hooks.ts';
import type { Hooks } from '../../core/pipeline/hooks.ts';
import { createLogger } from '../../core/logger.ts';
import { microseconds, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';

const calls = 100_000;
const rounds = 7;

const chunk: Chunk = { type: 'text-delta', choice: 0, text: 'hello' };
const context = {} as Streaming;
const owner = 'bench/tap';

/** Hooks with taps on `chunk` and `open`, guarded as in a gateway, or bare. */
function hooksWith(taps: number, isGuarded: boolean): Hooks {
  const hooks = createHooks();
  const watch = isGuarded
    ? guard(
        hooks,
        createLogger(() => {}),
      )
    : null;
  watch?.enter(owner);
  for (let at = 0; at < taps; at++) {
    hooks.chunk.tap(owner, (value) => value);
    hooks.normalise.tap(owner, (request) => request);
    hooks.auth.tapPromise(owner, async () => undefined);
  }
  watch?.seal();
  return hooks;
}

async function timeOf(work: () => void | Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const startedAt = performance.now();
    await work();
    if (round >= 0) times.push((performance.now() - startedAt) / calls);
  }
  return times;
}

const worksOf = (hooks: Hooks): Readonly<Record<string, () => void | Promise<void>>> => ({
  'chunk (sync waterfall)'() {
    for (let at = 0; at < calls; at++) hooks.chunk.call(chunk, context);
  },
  async 'normalise (async waterfall)'() {
    for (let at = 0; at < calls; at++) await hooks.normalise.promise({} as never, context);
  },
  async 'auth (async bail)'() {
    for (let at = 0; at < calls; at++) await hooks.auth.promise(context);
  },
});

export default {
  name: 'hooks',
  about: 'one call of a hook whose taps do nothing; the floor is the same tapable hook without core/guard. No target',
  async measure() {
    const figures: Figure[] = [];
    for (const taps of [1, 3]) {
      const guarded = worksOf(hooksWith(taps, true));
      const bare = worksOf(hooksWith(taps, false));
      for (const name of Object.keys(guarded)) {
        const gateway = await timeOf(guarded[name] as () => void);
        const floor = await timeOf(bare[name] as () => void);
        figures.push(ratioFigure(`${name}, ${taps} ${taps === 1 ? 'tap' : 'taps'}`, { gateway, floor, show: microseconds }));
      }
    }
    return figures;
  },
} satisfies Subject;
