/** What the dialects have in common for models that think, whichever wire serves them. */
import { reasoningField } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Target } from '../../../core/wire/dialect.ts';

/** Refuses the effort `none` of a caller where the model would think all the same. What the gateway itself chose is only left out. */
export function refuseNone({ mapping, reasoning }: Target): void {
  // wire: grok-4.20-non-reasoning has no word for `none`, and never reasons (xAI: Models)
  if (reasoning.isAutomatic === true || mapping.externalId.includes('non-reasoning')) return;
  throw new GatewayError('unsupported_value', `The model "${mapping.externalId}" cannot stop reasoning, so it does not support the effort "none". Ask for a low effort, or leave the effort out.`, { param: reasoningField(reasoning) });
}
