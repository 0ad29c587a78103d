/**
 * A structured answer from models that know no `output_config.format`: they call a tool whose input has the wanted schema,
 * and its arguments are the answer. Encoder and decoder know the tool by its name.
 */

/** safety: reserved; a tool of the caller's by this name would be taken for the answer. */
export const answerTool = 'answer_in_json';
