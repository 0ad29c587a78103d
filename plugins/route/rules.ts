/**
 * Replaces the candidates by those of the first rule of the policy that fits the request. It acts at `route`, before all other
 * plugins, so that what a key may use is checked on the new candidates too. A request that names its provider keeps it.
 */
import type { Candidate, Normalised } from '../../core/pipeline/context.ts';
import { noted } from '../../core/pipeline/context.ts';
import type { Config, Policy, Rule } from '../../core/config.ts';
import { chosen, isActive } from '../../core/pipeline/catalogue.ts';
import { patternOf } from '../../core/names.ts';
import { EARLY } from '../../core/pipeline/hooks.ts';
import { hasImages } from '../../core/wire/turns.ts';
import { promptEstimate } from '../../core/wire/estimate.ts';
import { definePlugin } from '../../core/host/plugin.ts';

const name = 'route/rules';

type Holds = (context: Normalised) => boolean;

interface Compiled {
  readonly holds: readonly Holds[];
  readonly candidates: readonly Candidate[];
}

export default definePlugin({
  name,
  summary: 'the candidates of a policy depend on the request: its key, metadata, size, tools, images, reasoning',
  apply({ hooks, config, clock }) {
    const compiled = compile(config);
    if (compiled.size === 0) return;
    hooks.route.tap({ stage: EARLY - 1 }, (candidates, context) => {
      const rules = context.addressing === 'provider' ? undefined : compiled.get(context.policy);
      const rule = rules?.find(({ holds }) => holds.every((one) => one(context)));
      const left = rule?.candidates.filter(({ model }) => isActive(model, clock)) ?? [];
      if (left.length === 0) return candidates;
      // the candidates of the rule may include a fallback, which must not be asked twice
      const known = new Set(left.map(({ mapping }) => mapping));
      return [...left, ...candidates.filter(({ isFallback, mapping }) => isFallback && !known.has(mapping))];
    });
  },
});

function compile(config: Config): Map<Policy, readonly Compiled[]> {
  const models = new Map(config.models.map((model) => [model.id, model]));
  const policies = [...config.routing.models].filter(([, { rules }]) => rules.length > 0);
  return new Map(
    policies.map(([id, policy]) => [
      policy,
      policy.rules.map(({ when, candidates }, at) => ({
        holds: Object.entries(when).map(([what, wanted]) => conditionOf(what, wanted)),
        candidates: chosen(candidates, models, config.providers).map((candidate) =>
          Object.freeze(noted(candidate, { by: name, text: `rule ${at + 1} of ${id}` })),
        ),
      })),
    ]),
  );
}

/** @param what `key`, `meta.<name>`, `prompt_tokens`, … as in the schema of `rules` */
function conditionOf(what: string, wanted: Rule['when'][string]): Holds {
  if (typeof wanted === 'boolean') return (context) => isTrue(what, context) === wanted;
  if (what === 'reasoning') return ({ request }) => request.reasoning.effort === wanted;
  if (what === 'prompt_tokens') return compared(wanted, ({ request }) => promptEstimate(request));
  if (what === 'max_tokens') return compared(wanted, ({ request }) => request.maxTokens);
  const pattern = patternOf(wanted);
  const fits = (text: string | null | undefined): boolean => typeof text === 'string' && pattern.test(text);
  const field = what.slice('meta.'.length);
  return what === 'key' ? ({ principal }) => fits(principal.key) : ({ metadata }) => fits(metadata[field]);
}

function isTrue(what: string, { request }: Normalised): boolean {
  switch (what) {
    case 'stream':
      return request.stream;
    case 'tools':
      return (request.tools ?? []).length > 0;
    case 'images':
      return hasImages(request.messages);
    default:
      return request.reasoning.maxTokens !== null || (request.reasoning.effort ?? 'none') !== 'none';
  }
}

/** @param bound `>N` or `<N`. An unknown number meets neither. */
function compared(bound: string, numberOf: (context: Normalised) => number | null): Holds {
  const limit = Number(bound.slice(1));
  const isMore = bound.startsWith('>');
  return (context) => {
    const number = numberOf(context);
    return number !== null && (isMore ? number > limit : number < limit);
  };
}
