/** The programs and rights that some tests need. Where one is missing, their files are left out: the run prints it, and `.ci/run` fails. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBrowser, ensurePostgres, ensureProgram } from './servers.ts';
import { mountSmallDisk } from './small-disk.ts';

interface Need {
  readonly name: string;
  /** Text in the files that need it. */
  readonly trace: RegExp;
  /** Throws where the machine lacks it. As root on Debian, a missing program is installed. */
  ensure(): void;
}

const needs: readonly Need[] = [
  {
    name: 'Redis (package redis-server)',
    trace: /\bstart(?:Redis|Cluster)\b/,
    ensure: () => void ensureProgram(['/usr/bin/redis-server'], 'redis-server'),
  },
  { name: 'PostgreSQL (package postgresql)', trace: /\bstartPostgres\b/, ensure: ensurePostgres },
  { name: 'a browser (package chromium-headless-shell)', trace: /\/browser\.ts'/, ensure: () => void ensureBrowser() },
  {
    name: 'certificates (package openssl)',
    trace: /_kit\/certificate\.ts/,
    ensure: () => void ensureProgram(['/usr/bin/openssl'], 'openssl'),
  },
  { name: 'the right to mount a small disk (root)', trace: /\bmountSmallDisk\b/, ensure: tryMount },
];

function tryMount(): void {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-mount-'));
  try {
    mountSmallDisk(folder, '64k').unmount();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export interface Lack {
  readonly name: string;
  /** Test files, from the root of the checkout. */
  readonly files: readonly string[];
}

/** What this machine lacks, with the test files that need it. */
export function lacking(root: string): readonly Lack[] {
  const missing = needs.filter(({ ensure }) => {
    try {
      ensure();
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return [];
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  return missing.map(({ name, trace }) => ({ name, files: files.flatMap(({ file, text }) => (trace.test(text) ? [file] : [])) }));
}

export const lackText = ({ name, files }: Lack): string => `This machine lacks ${name}: ${files.length} test files are left out.`;
