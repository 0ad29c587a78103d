/** Certificates that are made for one test. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ensureProgram } from './servers.ts';

interface Pair {
  readonly key: string;
  readonly cert: string;
}

/** One that the process of the test trusts. */
export function trustedCertificate(names = 'IP:127.0.0.1'): Pair {
  const made = certificate(names);
  setDefaultCACertificates([...getCACertificates(), made.cert]);
  return made;
}

/** One that nobody trusts. @param names `DNS:one.example,IP:127.0.0.1` */
export function certificate(names: string): Pair {
  const openssl = ensureProgram(['/usr/bin/openssl'], 'openssl');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const what = ['-subj', '/CN=a test', '-addext', `subjectAltName=${names}`, '-days', '2'];
  execFileSync(openssl, ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert, ...what], { stdio: 'ignore' });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}
