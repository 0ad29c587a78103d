/** The hooks as one plugin sees them: it may tap them under its own name, and never call them. */
import { inspect } from 'node:util';
import { didYouMean } from '../names.ts';
import type { Hooks } from '../pipeline/hooks.ts';
import { isFields } from '../wire/fields.ts';

type Fn = (...args: never[]) => unknown;

/** When a tap runs among those of its hook: `EARLY`, `LATE`, or before the taps of named plugins. */
export interface TapOptions {
  readonly stage?: number;
  readonly before?: string | readonly string[];
  /** The plugin's own name, which is the default. */
  readonly name?: string;
}

type TappedPromise<H> = H extends { tapPromise(options: never, fn: infer F): void } ? F : never;

/**
 * What a tap of this hook is given and gives back. A tap of an asynchronous hook may answer at once or with a promise; at once is cheaper.
 */
type Tapped<H> = H extends { tapPromise(options: never, fn: (...args: infer Args) => Promise<infer Value>): void }
  ? (...args: Args) => Value | undefined | Promise<Value | undefined>
  : H extends { tap(options: never, fn: infer F): void }
    ? F
    : never;

/** The plugin's name in front of the function is accepted and not needed. */
interface Tap<F> {
  (fn: F): void;
  (options: string | TapOptions, fn: F): void;
}

export type Tappable<H> = {
  readonly [Name in keyof H]: { readonly tap: Tap<Tapped<H[Name]>> } & ([TappedPromise<H[Name]>] extends [never]
    ? unknown
    : { readonly tapPromise: Tap<TappedPromise<H[Name]>> });
};

interface AnyHook {
  tap(options: object, fn: Fn): void;
  tapPromise?(options: object, fn: Fn): void;
}

function hookNamed(hooks: object, name: string | symbol): unknown {
  if (typeof name === 'string' && !(name in hooks)) throw new Error(`there is no hook "${name}".${didYouMean(name, Object.keys(hooks))}`);
  return Reflect.get(hooks, name);
}

const known = ['stage', 'before', 'name'] satisfies (keyof TapOptions)[];

/**
 * What is wrong with the options of a tap; null: nothing.
 * safety: tapable ignores options that it does not understand, and the tap would then run at another position.
 */
function faultOf(options: unknown): string | null {
  if (typeof options === 'string') return null;
  if (!isFields(options)) return 'with options that are not an object; write { stage } before the function';
  const odd = Object.keys(options).find((name) => !known.some((one) => one === name));
  if (odd !== undefined) return `with the option "${odd}", which does not exist.${didYouMean(odd, known)}`;
  const { stage } = options;
  return stage === undefined || Number.isFinite(stage)
    ? null
    : `with a stage that is no number, ${inspect(stage)}; EARLY and LATE are imported from the gateway`;
}

export function tapsOf<Host>(hooks: Hooks<Host>, plugin: string): Tappable<Hooks<Host>> {
  const named = (options: string | TapOptions): object => ({
    name: plugin,
    ...(typeof options === 'string' ? { name: options } : options),
  });
  const taps = Object.entries(hooks as unknown as Record<string, AnyHook>).map(([name, hook]) => {
    const under =
      (way: 'tap' | 'tapPromise') =>
      (...given: [Fn] | [options: string | TapOptions, fn: Fn]): void => {
        const [options, fn] = given.length === 1 ? [{}, given[0]] : given;
        const fault = faultOf(options);
        if (fault !== null) throw new Error(`plugin "${plugin}" taps "${name}" ${fault}`);
        hook[way]?.(named(options), fn);
      };
    return [
      name,
      hook.constructor.name.startsWith('Async') ? { tap: under('tap'), tapPromise: under('tapPromise') } : { tap: under('tap') },
    ];
  });
  return new Proxy<object>(Object.fromEntries(taps), { get: hookNamed }) as Tappable<Hooks<Host>>;
}
