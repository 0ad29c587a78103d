/** Resolves `server.tls`: reads the certificate and its key. Both files belong to the config, so a renewed certificate is a change of it. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Server } from '../../core/config.ts';
import { Secret } from '../../core/secret.ts';
import type { ServerBlock } from '../../schemas/server.ts';
import type { Findings } from '../problems.ts';
import type { Reading } from '../read.ts';

const warnBeforeMs = 7 * 86_400_000;

/** @param files gets the paths of both files, also where they cannot be read */
export function resolveTls({ value, source }: Reading, files: string[], findings: Findings): Server['tls'] {
  const { tls } = value['server'] as ServerBlock;
  if (tls === undefined) return null;
  const read = (name: 'cert' | 'key'): string | null => {
    const file = resolve(dirname(source.file), tls[name]);
    files.push(file);
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      findings.error({ source, path: ['server', 'tls', name] }, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, 'write the path of a PEM file, relative to this file');
      return null;
    }
  };
  const [cert, key] = [read('cert'), read('key')];
  if (cert === null || key === null) return null;
  const at = { source, path: ['server', 'tls', 'cert'] };
  try {
    createSecureContext({ cert, key });
    warnOfEnd(Date.parse(new X509Certificate(cert).validTo), (text, fix) => findings.warn(at, text, fix));
  } catch (error) {
    findings.error(at, `is no certificate in PEM that goes with server.tls.key (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, 'name the file with the whole chain, and the key that it was issued for');
    return null;
  }
  return { cert, key: new Secret(key) };
}

function warnOfEnd(endsAt: number, warn: (text: string, fix: string) => void): void {
  if (endsAt - Date.now() > warnBeforeMs) return;
  const when = new Date(endsAt).toISOString().slice(0, 10);
  warn(endsAt < Date.now() ? `the certificate has expired on ${when}` : `the certificate expires on ${when}`, 'renew it; the gateway uses the new one as soon as the files have changed');
}
