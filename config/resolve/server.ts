/** Resolves `server`: makes paths absolute, and refuses a gateway without keys that other machines can reach. */
import { dirname, resolve } from 'node:path';
import type { Server } from '../../core/config.ts';
import { Secret } from '../../core/secret.ts';
import type { ServerBlock } from '../../schemas/server.ts';
import { isLoopback } from '../../core/http/loopback.ts';
import type { Findings } from '../problems.ts';
import type { Reading } from '../read.ts';

/** What the `server` block itself does not say. */
export interface ServerFacts {
  /** Values from the command line; they win over the file. */
  readonly overrides: { readonly host?: string | undefined; readonly port?: number | undefined };
  /** Whether callers must identify themselves: there are keys, or an `auth/` plugin other than the shipped one. */
  readonly isGuarded: boolean;
}

/** The gateway does not lock out wrong guesses, because that would lock out the owner too. So the key must be too long to guess. */
const shortestKey = 16;

/**
 * Resolves the `server` block. Faults and warnings are reported to `findings`.
 * @param main the main file; its `server` block has passed the schema
 */
export function resolveServer(main: Reading, { overrides, isGuarded }: ServerFacts, findings: Findings): Server {
  const block = main.value['server'] as ServerBlock;
  const { limits } = block;
  const host = overrides.host ?? block.host;
  if (!isLoopback(host) && !isGuarded) {
    findings.error({ source: main.source, path: ['server', 'host'] }, `other machines can reach the gateway on ${host}, and there are no keys`, 'add `keys`, or write host: 127.0.0.1');
  }
  if (!isLoopback(host) && block.admin_key !== undefined && block.admin_key.trim().length < shortestKey) {
    findings.warn({ source: main.source, path: ['server', 'admin_key'] }, 'is so short that it can be guessed', `write ${shortestKey} random characters or more, as \`openssl rand -base64 24\` makes them`);
  }
  return {
    host,
    port: overrides.port ?? block.port,
    dataDir: resolve(dirname(main.source.file), block.data_dir),
    adminKey: block.admin_key === undefined ? null : new Secret(block.admin_key.trim()),
    finishReason: block.finish_reason,
    limits: {
      body: limits.body,
      jsonDepth: limits.json_depth,
      headers: limits.headers,
      headerTimeMs: limits.header_time_ms,
      requestTimeMs: limits.request_time_ms,
      upstreamEvent: limits.upstream_event,
      upstreamBody: limits.upstream_body,
      keepAliveMs: limits.keep_alive_ms,
      drainMs: limits.drain_ms,
    },
  };
}
