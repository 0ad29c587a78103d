/** All targets of a config of Portkey in one list, with the share or the turn that nested ones have. */
import { fieldsOf } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Path } from '../../source.ts';
import type { Draft } from '../draft.ts';
import { numberOf } from '../foreign.ts';
import { noteOthers, ofTargets, snake } from './fields.ts';
import { leave, targetOf } from './target.ts';
import type { Target } from './target.ts';

/** All targets, including nested ones. */
export function targetsOf(fields: Fields, path: Path, draft: Draft): Target[] {
  const { targets } = fields;
  if (!Array.isArray(targets)) return targetOf(fields, path, draft);
  const { mode, on_status_codes: codes } = snake(fieldsOf(fields['strategy']));
  const groups = targets.map((raw, at): Target[] => {
    const inner = withThoseOf(fields, snake(fieldsOf(raw)));
    const place = [...path, 'targets', at];
    const weight = numberOf(inner['weight']) ?? 1;
    if (mode === 'loadbalance' && weight <= 0) return leave('its weight is 0, so it gets no requests', place, draft);
    if (Array.isArray(inner['targets'])) draft.note([...place, 'targets'], nested);
    noteOthers(inner, { path: place, known: ofTargets, draft });
    const group = targetsOf(inner, place, draft).map((target) => ({ ...target, names: [inner['name'], ...target.names] }));
    return mode === 'loadbalance' ? shared(group, weight) : group;
  });
  if (codes !== undefined) draft.note([...path, 'strategy', 'on_status_codes'], nextTarget);
  if (mode !== 'fallback') return groups.flat();
  const first = groups.findIndex(({ length }) => length > 0);
  return groups.flatMap((group, at) => (at === first ? group : group.map((target) => ({ ...target, isStandby: true as const }))));
}

const nextTarget = 'the next target is asked after 429, 5xx, a timeout, a broken connection, a refused key or an empty account';
const nested = 'a policy cannot contain a policy: the targets of the inner one are candidates or fallbacks of the outer one';

/** The weight of a target inside its group. */
function weightOf({ isStandby, isShared, params }: Target): number {
  if (isStandby === true) return 0;
  return isShared === true ? (numberOf(params['weight']) ?? 1) : 1;
}

/** A group of targets that gets this share of the requests. */
function shared(group: readonly Target[], share: number): Target[] {
  const sum = group.reduce((all, target) => all + weightOf(target), 0);
  return group.map((target) => {
    const weight = Number(((share * weightOf(target)) / sum).toPrecision(6));
    return target.isStandby ? target : { ...target, isShared: true, params: { weight } };
  });
}

/** A target without a model or an address takes that of the target around it. */
function withThoseOf(outer: Fields, inner: Fields): Fields {
  const { model } = fieldsOf(outer['override_params']);
  return {
    ...inner,
    // safety: without it, prompts for a server of one's own would go to the vendor
    custom_host: inner['custom_host'] ?? outer['custom_host'],
    ...(model !== undefined && { override_params: { model, ...fieldsOf(inner['override_params']) } }),
  };
}
