/**
 * Structured answers of models that take no schema for their answer: the model is told to call a tool whose input has the wanted
 * schema, and the input is the answer. The encoder declares the tool, and the decoder recognises it by its name.
 */
import type { ResponseFormat } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

/**
 * The name of that tool.
 * safety: the name is reserved, because the decoder would take a call of a caller's tool with this name for the answer.
 */
export const answerTool = 'answer_in_json';

/** Throws `invalid_value` where a caller's tool has the reserved name. @param param the path of the name */
export function refuseReserved(name: string, param: string): void {
  if (name === answerTool) throw new GatewayError('invalid_value', `The tool name "${answerTool}" is reserved. Choose another.`, { param });
}

/** The schema of the answer, with the description that came beside it: only OpenAI's APIs have a field for that. */
export function answerSchema(format: ResponseFormat | null): object | undefined {
  const wanted = format?.json_schema;
  const description = wanted?.['description'];
  return wanted?.schema && typeof description === 'string' ? { description, ...wanted.schema } : wanted?.schema;
}
