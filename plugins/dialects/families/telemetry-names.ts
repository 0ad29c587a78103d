/**
 * What OpenTelemetry's GenAI conventions call the vendors, by the dialect of a provider entry. Where they have a name it must be
 * used; any other provider goes by its own id.
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

/** The name of a dialect's vendor in `gen_ai.provider.name`; undefined: the conventions have none. */
export const telemetryName = (dialect: string | undefined): string | undefined => (dialect !== undefined && Object.hasOwn(names, dialect) ? names[dialect] : undefined);
