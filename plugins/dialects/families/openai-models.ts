/** What OpenAI's model families refuse, on whichever API they are asked by. Names of parameters are those of chat completions. */

export interface OpenaiFamily {
  /** Matched against the model's name, in lower case and without a vendor in front. */
  readonly match: RegExp;
  readonly refuses: readonly string[];
  /** Of `refuses`, what it takes after all while the effort is `none`. */
  readonly takesUnthinking: readonly string[];
}

export const logOfTokens: readonly string[] = ['logprobs', 'top_logprobs'];
export const sampling: readonly string[] = ['temperature', 'top_p', ...logOfTokens, 'presence_penalty', 'frequency_penalty', 'logit_bias'];

/** The first that matches counts; a model that none matches (a fine-tune, an unknown name) takes everything. */
export const openaiFamilies: readonly OpenaiFamily[] = [
  { match: /^(?:o\d|codex)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  // wire: gpt-5.1 and later take sampling parameters and logprobs while they do not think
  { match: /^gpt-(?:5\.\d|(?:[6-9]|1\d)(?:[.-]|$))/, refuses: sampling, takesUnthinking: ['temperature', 'top_p', ...logOfTokens] },
  { match: /^gpt-5(?!-chat)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  { match: /-search-preview/, refuses: ['temperature'], takesUnthinking: [] },
];

/** The family of a model that may go by several names: `gpt-5`, `openai/gpt-5`, a deployment's name beside the catalogue's. */
export function openaiFamilyOf(names: readonly string[]): OpenaiFamily | undefined {
  const plain = names.map((name) => name.toLowerCase().replace(/^.*\//, ''));
  return openaiFamilies.find(({ match }) => plain.some((name) => match.test(name)));
}
