/**
 * Resolves `server.tls`: reads the certificate and its key. Both files
 * belong to the config, so a renewed certificate is a change of the config.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Server } from '../../core/config.ts';
import { Secret } from '../../core/secret.ts';
import type { ServerBlock } from '../../schemas/server.ts';
import type { Findings, Place } from '../problems.ts';
import { whyUnreadable } from '../problems.ts';
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
      findings.error(
        { source, path: ['server', 'tls', name] },
        `cannot be read: ${whyUnreadable(error)}`,
        'write the path of a PEM file, relative to this file',
      );
      return null;
    }
  };
  const [cert, key] = [read('cert'), read('key')];
  if (cert === null || key === null) return null;
  const at = (name: 'cert' | 'key'): Place => ({ source, path: ['server', 'tls', name] });
  const fault = faultOf({ cert, key });
  if (fault !== null) {
    findings.error(at(fault.name), fault.text, fault.fix);
    return null;
  }
  warnOfDates(new X509Certificate(cert), (text, fix) => findings.warn(at('cert'), text, fix));
  return { cert, key: new Secret(key) };
}

interface Fault {
  /** Which of the two files it is. */
  readonly name: 'cert' | 'key';
  readonly text: string;
  readonly fix: string;
}

/** The fault of the certificate and its key; null: none. */
function faultOf({ cert, key }: { readonly cert: string; readonly key: string }): Fault | null {
  if (codeOf(() => new X509Certificate(cert)) !== null) {
    return {
      name: 'cert',
      text: 'is no certificate in PEM',
      fix: 'name the file with the whole chain, which begins with -----BEGIN CERTIFICATE-----',
    };
  }
  if (/^(?:-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED)/m.test(key)) {
    return {
      name: 'key',
      text: 'has a passphrase, which the gateway does not know',
      fix: 'write a file without one: openssl pkey -in KEY -out NEW',
    };
  }
  if (codeOf(() => createPrivateKey(key)) !== null) {
    return {
      name: 'key',
      text: 'is no key in PEM',
      fix: 'name the file with the key, which begins with -----BEGIN PRIVATE KEY----- or the like',
    };
  }
  const code = codeOf(() => createSecureContext({ cert, key }));
  return code === null
    ? null
    : {
        name: 'cert',
        text: `does not go with server.tls.key (${code})`,
        fix: 'name the file with the whole chain, its own certificate first, and the key that it was issued for',
      };
}

/** The code of the error that a function throws; null: it throws none. */
function codeOf(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

function warnOfDates({ validFrom, validTo }: X509Certificate, warn: (text: string, fix: string) => void): void {
  const [beginsAt, endsAt] = [Date.parse(validFrom), Date.parse(validTo)];
  if (beginsAt > Date.now()) {
    warn(`the certificate is not valid before ${day(beginsAt)}`, 'name one that is valid now, or set the clock of this machine');
  } else if (endsAt < Date.now()) warn(`the certificate has expired on ${day(endsAt)}`, renew);
  else if (endsAt - Date.now() <= warnBeforeMs) warn(`the certificate expires on ${day(endsAt)}`, renew);
}

const renew = 'renew it; the gateway uses the new one as soon as the files have changed';
const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
