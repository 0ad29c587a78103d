/** Certificates for one test. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ensureProgram } from './servers.ts';

interface Pair {
  readonly key: string;
  readonly cert: string;
}

/** A certificate that the process of the test trusts. */
export function trustedCertificate(names = 'IP:127.0.0.1'): Pair {
  const pair = certificate(names);
  setDefaultCACertificates([...getCACertificates(), pair.cert]);
  return pair;
}

/** A self-signed certificate that nobody trusts. @param names `DNS:one.example,IP:127.0.0.1` */
export const certificate = (names: string): Pair => inFolder((folder) => made(folder, names));

/** A certificate that a private authority has signed, without the certificate of the authority, as many servers of companies send it. */
export const signedCertificate = (names: string): Pair =>
  inFolder((folder) => {
    made(folder, 'DNS:authority.example', 'authority');
    return made(folder, names, 'server', ['-CA', join(folder, 'authority.cert'), '-CAkey', join(folder, 'authority.key')]);
  });

const signing =
  '[ca]\ndefault_ca = test\n[test]\ndatabase = index\nserial = serial\nnew_certs_dir = .\ndefault_md = sha256\npolicy = policy\n[policy]\ncommonName = supplied\n';

/** A self-signed certificate that is valid in these years alone, such as `2001`. */
export const datedCertificate = (from: number, to: number): Pair =>
  inFolder((folder) => {
    const { key } = made(folder, 'DNS:any.example');
    const run = (...args: readonly string[]): Buffer => execFileSync('/usr/bin/openssl', args, { cwd: folder, stdio: 'ignore' });
    for (const [file, content] of [
      ['index', ''],
      ['serial', '01\n'],
      ['config', signing],
    ] as const) {
      writeFileSync(join(folder, file), content);
    }
    run('req', '-new', '-key', 'server.key', '-subj', '/CN=a test of dates', '-out', 'request');
    run(
      'ca',
      '-batch',
      '-notext',
      '-selfsign',
      '-config',
      'config',
      '-keyfile',
      'server.key',
      '-startdate',
      `${from}0101000000Z`,
      '-enddate',
      `${to}0101000000Z`,
      '-in',
      'request',
      '-out',
      'dated',
    );
    return { key, cert: readFileSync(join(folder, 'dated'), 'utf8') };
  });

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function made(folder: string, names: string, name = 'server', signer: readonly string[] = []): Pair {
  const openssl = ensureProgram(['/usr/bin/openssl'], 'openssl');
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.cert`)];
  const what = ['-subj', `/CN=a test of ${name}`, '-addext', `subjectAltName=${names}`, '-days', '2', ...signer];
  execFileSync(
    openssl,
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert, ...what],
    { stdio: 'ignore' },
  );
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}
