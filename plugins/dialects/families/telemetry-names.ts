/**
 * The names of vendors in OpenTelemetry's semantic conventions for GenAI, by the dialect of a provider entry. The conventions say that
 * a well-known name must be used if there is one (attribute `gen_ai.provider.name`).
 */
const names: Readonly<Record<string, string>> = {
  openai: 'openai',
  'openai-responses': 'openai',
  anthropic: 'anthropic',
  bedrock: 'aws.bedrock',
  azure: 'azure.ai.openai',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  deepseek: 'deepseek',
  groq: 'groq',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  perplexity: 'perplexity',
  xai: 'x_ai',
};

/** The value of `gen_ai.provider.name` for a dialect; undefined if the conventions have no name for its vendor. */
export const telemetryName = (dialect: string | undefined): string | undefined =>
  dialect !== undefined && Object.hasOwn(names, dialect) ? names[dialect] : undefined;
