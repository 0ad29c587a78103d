/** The arguments of a call in the history, for wires that take them as an object. */
import { objectIn } from '../../../core/wire/json.ts';

/**
 * The arguments as an object. Arguments that are not an object, for example of a call that was cut, are wrapped
 * in one, so that the model still sees them; `adjust` notes it. Clients send `""` for a call without arguments.
 */
export function argumentsIn(text: string, adjust: (parameter: string, change: string) => void): object {
  if (text.trim() === '') return {};
  const given = objectIn(text);
  if (given !== null) return given;
  adjust('messages.tool_calls.function.arguments', 'wrapped in an object');
  return { arguments: text };
}
