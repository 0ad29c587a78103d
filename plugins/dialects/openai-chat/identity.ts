/**
 * The identity of this machine at Microsoft Entra ID: a service principal in
 * the environment, workload identity, managed identity, a person's sign-in.
 * wire: Azure Identity: DefaultAzureCredential.
 */
import type { Identity } from '../../../core/wire/dialect.ts';

// wire: the scope of Azure OpenAI and of Foundry models (Azure OpenAI: Managed identity)
const scope = 'https://cognitiveservices.azure.com/.default';

export const entra: Identity = {
  package: '@azure/identity',
  async fetch() {
    const { DefaultAzureCredential } = await import('@azure/identity');
    // wire: AZURE_AUTHORITY_HOST names a cloud that the public cloud does not know, so the
    // library must not ask the public cloud about it (Azure Identity: AuthorityValidationOptions)
    const isOwnCloud = (process.env['AZURE_AUTHORITY_HOST'] ?? '') !== '';
    const { token, expiresOnTimestamp } = await new DefaultAzureCredential(isOwnCloud ? { disableInstanceDiscovery: true } : {}).getToken(
      scope,
    );
    return { settings: { api_key: token }, expiresAt: expiresOnTimestamp };
  },
};
