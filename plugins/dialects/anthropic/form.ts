/** The parts of a request that only the Messages API has. Callers of the door of this format may use everything that the API knows. */
import type { ChatRequest, Native } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { type ClaudeTerms, takesLaterInstructions } from '../families/claude.ts';
import { withoutClientSettings } from '../families/client-settings.ts';

/** The name of this wire format (`ChatRequest.form`). */
export const form = 'messages';

/** True if the caller speaks the Messages API too. */
export const isSameForm = (request: ChatRequest): boolean => request.form === form;

/** The fields of a message, part, call or tool that only the Messages API has. */
export const nativeOf = ({ native }: { readonly native?: Native }): Fields => native?.fields ?? {};

/** The betas that the caller asks for. */
export const betasOf = (request: ChatRequest): readonly string[] =>
  listOf(nativeOf(request)['anthropic_beta']).filter((beta): beta is string => typeof beta === 'string');

/**
 * True if instructions may stand between the turns.
 * wire: the API takes them only with a beta (Anthropic: Beta headers, `mid-conversation-system-2026-04-07`),
 * and not at every model; otherwise they go out as text of the user
 */
export const mayInstructLater = (request: ChatRequest, target: Target): boolean =>
  takesLaterInstructions(target) && betasOf(request).some((beta) => beta.startsWith('mid-conversation-system'));

/**
 * The fields of the body that go out as the caller wrote them. `thinking` and `output_config` are not among them.
 * @param drop notes each field that does not go out
 */
export function bodyFieldsOf(request: ChatRequest, drop: (field: string, value: unknown) => void): Fields {
  const { anthropic_beta: _, thinking: __, output_config: ___, ...fields } = nativeOf(request);
  return withoutClientSettings(fields, drop);
}

/** The thinking, with the fields that only the Messages API has. */
export function thinkingField(request: ChatRequest, { thinking }: ClaudeTerms): Fields | null {
  if (!isSameForm(request)) return thinking;
  const { type, ...own } = fieldsOf(nativeOf(request)['thinking']);
  if (thinking === null) return type === 'between_tools' ? { type, ...own } : null;
  // a caller who asks for adaptive thinking decides whether its text is shown
  return { ...(thinking.type === 'adaptive' && request.reasoning.maxTokens === null ? { type: thinking.type } : thinking), ...own };
}

/**
 * The effort: the caller's own word where the API has more words than the
 * gateway's efforts, or where the caller asks for an effort without thinking.
 */
export function effortField(request: ChatRequest, { effort }: ClaudeTerms): Fields {
  const { effort: own, ...others } = fieldsOf(nativeOf(request)['output_config']);
  const said = own !== undefined && (effort !== null || request.reasoning.effort === null) ? own : effort;
  return { ...others, ...(said !== null && { effort: said }) };
}
