/**
 * The identity of this machine at Google Cloud: application default credentials.
 * wire: Google Cloud: How Application Default Credentials works.
 */
import type { Identity } from '../../../core/wire/dialect.ts';

// wire: the scope of every API of Google Cloud (Vertex AI: Authenticate)
const scopes = 'https://www.googleapis.com/auth/cloud-platform';

export const google: Identity = {
  package: 'google-auth-library',
  async fetch() {
    const { GoogleAuth } = await import('google-auth-library');
    // a new `GoogleAuth` for each renewal reads a key file that has changed since
    // cost: without a project the library runs gcloud to find one, which takes a second; a token belongs to no project
    const client = await new GoogleAuth({ scopes, projectId: 'none' }).getClient();
    const { token } = await client.getAccessToken();
    if (typeof token !== 'string' || token === '') throw new Error('Google gave no access token.');
    return { settings: { api_key: token }, expiresAt: client.credentials.expiry_date ?? null };
  },
};
