/**
 * The identity of this machine at AWS: the environment, shared files with
 * roles, web identity (IRSA), containers (ECS, EKS Pod Identity), EC2.
 * wire: AWS SDK for JavaScript: fromNodeProviderChain.
 */
import type { Identity } from '../../../core/wire/dialect.ts';

export const aws: Identity = {
  package: '@aws-sdk/credential-providers',
  async fetch() {
    const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
    // a new chain for each renewal keeps nothing, and reads shared files that have changed since
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await fromNodeProviderChain({ ignoreCache: true })();
    return {
      settings: {
        access_key_id: accessKeyId,
        secret_access_key: secretAccessKey,
        ...(sessionToken !== undefined && { session_token: sessionToken }),
      },
      expiresAt: expiration?.getTime() ?? null,
    };
  },
};
