/** The hooks as one plugin sees them: it may tap them under its own name, and never call them. */
import { didYouMean } from '../names.ts';
import type { Hooks } from '../pipeline/hooks.ts';

type Fn = (...args: never[]) => unknown;

/** When a tap runs among those of its hook: `EARLY`, `LATE`, or before the taps of named plugins. */
export interface TapOptions {
  readonly stage?: number;
  readonly before?: string | readonly string[];
  /** The plugin's own name, which is the default. */
  readonly name?: string;
}

type TappedPromise<H> = H extends { tapPromise(options: never, fn: infer F): void } ? F : never;

/** What a tap of this hook is given and gives back. A tap of an asynchronous hook may answer at once or with a promise; at once is cheaper. */
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

export type Tappable<H> = { readonly [Name in keyof H]: { readonly tap: Tap<Tapped<H[Name]>> } & ([TappedPromise<H[Name]>] extends [never] ? unknown : { readonly tapPromise: Tap<TappedPromise<H[Name]>> }) };

interface AnyHook {
  tap(options: object, fn: Fn): void;
  tapPromise?(options: object, fn: Fn): void;
}

function hookNamed(hooks: object, name: string | symbol): unknown {
  if (typeof name === 'string' && !(name in hooks)) throw new Error(`there is no hook "${name}".${didYouMean(name, Object.keys(hooks))}`);
  return Reflect.get(hooks, name);
}

export function tapsOf<Host>(hooks: Hooks<Host>, plugin: string): Tappable<Hooks<Host>> {
  const named = (options: string | TapOptions): object => ({ name: plugin, ...(typeof options === 'string' ? { name: options } : options) });
  const taps = Object.entries(hooks as unknown as Record<string, AnyHook>).map(([name, hook]) => {
    const under = (way: 'tap' | 'tapPromise') => (first: string | TapOptions | Fn, fn?: Fn): void => (typeof first === 'function' ? hook[way]?.({ name: plugin }, first) : hook[way]?.(named(first), fn as Fn));
    return [name, hook.constructor.name.startsWith('Async') ? { tap: under('tap'), tapPromise: under('tapPromise') } : { tap: under('tap') }];
  });
  return new Proxy<object>(Object.fromEntries(taps), { get: hookNamed }) as Tappable<Hooks<Host>>;
}
