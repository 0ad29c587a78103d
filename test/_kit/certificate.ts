/** A certificate for 127.0.0.1, made for one test, whose process trusts it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ensureProgram } from './servers.ts';

export function trustedCertificate(): { readonly key: string; readonly cert: string } {
  const openssl = ensureProgram(['/usr/bin/openssl'], 'openssl');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const what = ['-subj', '/CN=a test', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  execFileSync(openssl, ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert, ...what], { stdio: 'ignore' });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([...getCACertificates(), made.cert]);
  return made;
}
