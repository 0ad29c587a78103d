/**
 * Structured answers of models that take no schema for their answer: the model is told to call a tool whose input has the wanted
 * schema, and the input is the answer. The encoder declares the tool, and the decoder recognises it by its name.
 */

/**
 * The name of that tool.
 * safety: the name is reserved, because the decoder would take a call of a caller's tool with this name for the answer.
 */
export const answerTool = 'answer_in_json';
