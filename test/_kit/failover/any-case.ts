/** Any small config, anything that its providers do, and any requests. */
import * as fc from 'fast-check';

/** How a provider says when it may be asked again. */
export type Hint = 'none' | 'ms' | 'short' | 'seconds' | 'date' | 'words';

/** What a provider does with one call. */
export type Act =
  | { readonly does: 'answers'; readonly afterMs: number }
  | { readonly does: 'refuses'; readonly status: number; readonly hint: Hint }
  /** The connection breaks before the headers. */
  | { readonly does: 'breaks' }
  /** The answer ends after its headers. */
  | { readonly does: 'begins'; readonly end: 'close' | 'reset' | 'hang' }
  /** The answer ends after some of its pieces. */
  | { readonly does: 'stops'; readonly end: 'close' | 'reset' | 'hang' | 'error' }
  /** An error comes in place of the first piece. */
  | { readonly does: 'fails' }
  /** The answer is whole, and its end does not come. */
  | { readonly does: 'finishes'; readonly end: 'reset' | 'hang' }
  /** The answer has no text. */
  | { readonly does: 'is silent' }
  /** The answer has no choice. */
  | { readonly does: 'is empty' }
  | { readonly does: 'hangs' };

export interface AnyProvider {
  readonly keys: number;
  readonly breaker: false | { readonly failures: number; readonly rest_ms: number };
  /** What it does with each call; after the last one it begins again. Empty: it refuses connections. */
  readonly script: readonly Act[];
}

export interface AnyModel {
  /** The numbers of its providers, each with a weight. */
  readonly providers: readonly { readonly at: number; readonly weight: number }[];
  /** Dollars for a million tokens. */
  readonly price: number;
}

export interface AnyPolicy {
  readonly strategy: 'ordered' | 'cheapest' | 'fastest' | 'weighted' | 'balanced';
  readonly max_attempts: number;
  readonly retry: { readonly same_target: number; readonly base_ms: number; readonly max_ms: number };
  readonly hedge_ms: number | false;
  readonly sticky: 'meta.session' | 'conversation' | undefined;
}

export interface AnyRequest {
  readonly model: 'auto' | 'm0' | 'm1' | 'p0/x0';
  readonly stream: boolean;
  readonly cache: boolean;
  /** When the client leaves: when a provider has its call, or when the first piece has come. */
  readonly leaves: 'never' | 'asked' | 'begun';
  readonly caller: 'a' | 'b';
  readonly session: 's1' | 's2';
}

/** Requests that are sent at one time, and the pause before them. */
export interface Batch {
  readonly pauseMs: number;
  readonly requests: readonly AnyRequest[];
}

export interface AnyCase {
  readonly providers: readonly AnyProvider[];
  readonly models: readonly AnyModel[];
  readonly policy: AnyPolicy;
  /** The policy `auto`: what it has of its own. */
  readonly own: Partial<AnyPolicy>;
  readonly hasRule: boolean;
  readonly hasFallback: boolean;
  readonly keepAliveMs: number;
  readonly totalMs: number;
  readonly tight: object | null;
  readonly batches: readonly Batch[];
}

const hint = fc.constantFrom<Hint>('none', 'ms', 'ms', 'short', 'seconds', 'date', 'words');
const statuses = [400, 401, 402, 403, 404, 408, 413, 429, 429, 429, 500, 503, 529] as const;

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('answers' as const), afterMs: fc.constantFrom(0, 0, 0, 5, 30, 60) }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('refuses' as const), status: fc.constantFrom(...statuses), hint }) },
  { weight: 2, arbitrary: fc.constant({ does: 'breaks' as const }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('begins' as const), end: fc.constantFrom('close', 'reset', 'hang') }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('stops' as const), end: fc.constantFrom('close', 'reset', 'hang', 'error') }) },
  { weight: 1, arbitrary: fc.constant({ does: 'fails' as const }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('finishes' as const), end: fc.constantFrom('reset', 'hang') }) },
  { weight: 1, arbitrary: fc.constant({ does: 'is silent' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'is empty' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'hangs' as const }) },
);

const provider: fc.Arbitrary<AnyProvider> = fc.record({
  keys: fc.constantFrom(1, 1, 2, 3),
  breaker: fc.constantFrom(false as const, { failures: 1, rest_ms: 30 }, { failures: 2, rest_ms: 40 }, { failures: 5, rest_ms: 30 }),
  script: fc.oneof(
    { weight: 12, arbitrary: fc.array(act, { minLength: 1, maxLength: 6 }) },
    { weight: 1, arbitrary: fc.constant<readonly Act[]>([]) },
  ),
});

const policy: fc.Arbitrary<AnyPolicy> = fc.record({
  strategy: fc.constantFrom('ordered', 'ordered', 'cheapest', 'fastest', 'weighted', 'balanced'),
  max_attempts: fc.constantFrom(1, 2, 3, 3, 5, 10),
  retry: fc.record({ same_target: fc.constantFrom(0, 1, 1, 2), base_ms: fc.constantFrom(1, 4), max_ms: fc.constantFrom(1, 60) }),
  hedge_ms: fc.constantFrom(false as const, false as const, 15),
  sticky: fc.constantFrom(undefined, undefined, 'meta.session' as const, 'conversation' as const),
});

const request: fc.Arbitrary<AnyRequest> = fc.record({
  model: fc.constantFrom('auto', 'auto', 'm0', 'm0', 'm1', 'p0/x0'),
  stream: fc.boolean(),
  cache: fc.constantFrom(false, false, false, true),
  leaves: fc.constantFrom('never', 'never', 'never', 'never', 'never', 'never', 'asked', 'begun'),
  caller: fc.constantFrom('a', 'b'),
  session: fc.constantFrom('s1', 's2'),
});

const tight = fc.record({
  by: fc.constantFrom('all', 'key', 'model', 'provider', 'provider', 'meta.session'),
  cap: fc.constantFrom(
    { requests_per_minute: 3 },
    { concurrent: 1 },
    { concurrent: 2 },
    { tokens_per_minute: 120 },
    { budget: { dollars: '0.0003', per: 'total' } },
  ),
});

const modelsOf = (count: number): fc.Arbitrary<readonly AnyModel[]> => {
  const place = fc.record({ at: fc.nat(count - 1), weight: fc.constantFrom(1, 1, 3) });
  const providers = fc.uniqueArray(place, { minLength: 1, maxLength: 3, selector: ({ at }) => at });
  return fc.tuple(...[0, 1].map(() => fc.record({ providers, price: fc.constantFrom(1, 2) })));
};

export const anyCase: fc.Arbitrary<AnyCase> = fc.array(provider, { minLength: 1, maxLength: 3 }).chain((providers) =>
  fc.record({
    providers: fc.constant(providers),
    models: modelsOf(providers.length),
    policy,
    own: fc.oneof(fc.constant({}), policy),
    hasRule: fc.constantFrom(false, false, true),
    hasFallback: fc.boolean(),
    keepAliveMs: fc.constantFrom(20, 4000, 4000),
    totalMs: fc.constantFrom(100, 5000, 5000, 5000),
    tight: fc.oneof(
      fc.constant(null),
      tight.map(({ by, cap }) => ({ by, ...cap })),
    ),
    batches: fc.array(fc.record({ pauseMs: fc.constantFrom(0, 0, 35), requests: fc.array(request, { minLength: 1, maxLength: 3 }) }), {
      minLength: 1,
      maxLength: 5,
    }),
  }),
);
