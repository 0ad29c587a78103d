/** What OpenAI's model families refuse, on whichever API they are asked by. Names of parameters are those of chat completions. */

export interface OpenaiFamily {
  /** Matched against the model's name, in lower case and without a vendor in front. */
  readonly match: RegExp;
  readonly refuses: readonly string[];
  /** Of `refuses`, what it takes after all while the effort is `none`. */
  readonly takesUnthinking: readonly string[];
}

export const logOfTokens: readonly string[] = ['logprobs', 'top_logprobs'];
const sampling: readonly string[] = ['temperature', 'top_p', ...logOfTokens, 'presence_penalty', 'frequency_penalty', 'logit_bias'];

/** In the order in which they are tried; a model that none matches (a fine-tune, an unknown name) takes everything. */
export const openaiModels = {
  oSeries: { match: /^(?:o\d|codex)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  // wire: gpt-5.1 and later take sampling parameters and logprobs while they do not think
  sinceGpt51: { match: /^gpt-(?:5\.\d|(?:[6-9]|1\d)(?:[.-]|$))/, refuses: sampling, takesUnthinking: ['temperature', 'top_p', ...logOfTokens] },
  gpt5: { match: /^gpt-5(?!-chat)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  searchPreview: { match: /-search-preview/, refuses: ['temperature'], takesUnthinking: [] },
} as const satisfies Record<string, OpenaiFamily>;

const families: readonly OpenaiFamily[] = Object.values(openaiModels);

/** The family of a model that may go by several names: `gpt-5`, `openai/gpt-5`, a deployment's name beside the catalogue's. */
export function openaiFamilyOf(names: readonly string[]): OpenaiFamily | undefined {
  const plain = names.map((name) => name.toLowerCase().replace(/^.*\//, ''));
  return families.find(({ match }) => plain.some((name) => match.test(name)));
}
