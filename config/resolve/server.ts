/** Resolves `server`: makes paths absolute, and refuses a gateway without keys that other machines can reach. */
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { domainToASCII } from 'node:url';
import type { Bound, Server } from '../../core/config.ts';
import { Secret } from '../../core/secret.ts';
import type { ServerBlock } from '../../schemas/server.ts';
import { shortestKey } from '../../core/api-key.ts';
import { defaultsOfHeap } from '../../core/http/in-flight.ts';
import { isAddressBlock, isLoopback } from '../../core/wire/address.ts';
import { isFields } from '../../core/wire/fields.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';
import { resolveTls } from './tls.ts';

/** Facts that the `server` block does not have. */
export interface ServerFacts {
  /** Values from the command line; they win over the file. */
  readonly overrides: { readonly host?: string | undefined; readonly port?: number | undefined };
  /** Whether callers must identify themselves: there are keys, or an `auth/` plugin other than the shipped one. */
  readonly isGuarded: boolean;
  /** What a running gateway keeps, where it reads its config again; null at a start. */
  readonly bound: Bound | null;
  /** The folder of a relative `data_dir`. */
  readonly home: string;
  /** Gets the paths of further files that belong to the config. */
  readonly files: string[];
}

/**
 * Resolves the `server` block. Faults and warnings are reported to `findings`.
 * Null: the block has not passed the schema. Its parts that have passed are checked all the same.
 * @param main the main file
 */
export function resolveServer(main: Reading, facts: ServerFacts, findings: Findings): Server | null {
  const { overrides, isGuarded, bound, home, files } = facts;
  const block = main.value['server'] as ServerBlock;
  const isSound = findings.isSound({ source: main.source, path: ['server'] });
  if (isFields(block)) checkParts(main, facts, findings);
  const tls =
    isFields(block) && findings.isSound({ source: main.source, path: ['server', 'tls'] }) ? resolveTls(main, files, findings) : null;
  if (!isSound) return null;
  const workers = block.workers === 'auto' ? availableParallelism() : block.workers;
  const adminKey = block.admin_key?.trim();
  return {
    host: overrides.host ?? block.host,
    port: overrides.port ?? block.port,
    workers,
    tls,
    dataDir: resolve(home, block.data_dir),
    isGuarded,
    adminKey: adminKey === undefined ? null : new Secret(adminKey),
    adminOpen: block.admin_open,
    allowedHosts: block.allowed_hosts.map((name) => name.toLowerCase()),
    trustedProxies: block.trusted_proxies,
    logAddresses: block.log_addresses,
    corsOrigins: block.cors.origins,
    fetchImages: block.fetch_images,
    finishReason: block.finish_reason,
    reasoningFields: block.reasoning_fields,
    limits: resolveLimits(block, bound?.workers ?? workers),
  };
}

/** Checks what the schema cannot: each part that has passed it, so that all faults of the block are reported at once. */
function checkParts(
  main: Reading,
  { overrides, isGuarded, bound }: Pick<ServerFacts, 'overrides' | 'isGuarded' | 'bound'>,
  findings: Findings,
): void {
  const block = main.value['server'] as ServerBlock;
  const place = (...path: Path): Place => ({ source: main.source, path: ['server', ...path] });
  const ifSound = <Name extends keyof ServerBlock>(name: Name, check: (value: ServerBlock[Name]) => void): void =>
    findings.isSound(place(name)) ? check(block[name]) : undefined;
  const { host: given } = overrides;
  ifSound('host', (written) =>
    judgeHost(given ?? written, { isGuarded, bound, isGiven: given !== undefined }, (text, fix) =>
      findings.error(place('host'), text, fix),
    ),
  );
  ifSound('allowed_hosts', (names) => {
    for (const [at, name] of names.entries()) {
      if (/^[\w.-]+$/.test(name)) continue;
      const bare = /^(?:\w+:\/\/)?([\w.-]+)/.exec(name)?.[1];
      findings.error(
        place('allowed_hosts', at),
        'is no name of a host: it has no scheme, port or path',
        bare === undefined ? null : `write ${bare}`,
      );
    }
  });
  ifSound('cors', ({ origins }) => {
    for (const [at, origin] of origins.entries()) {
      const fault = faultOfOrigin(origin);
      if (fault !== null) findings.error(place('cors', 'origins', at), fault.text, fault.fix);
    }
  });
  ifSound('trusted_proxies', (entries) => {
    for (const [at, entry] of entries.entries()) {
      if (!isAddressBlock(entry)) {
        findings.error(
          place('trusted_proxies', at),
          'is neither an IP address nor a block of them',
          'write it like 10.0.0.7, 10.0.0.0/8 or fd00::/8',
        );
      }
    }
  });
  ifSound('admin_key', (written) => {
    if (written === undefined) return;
    if (written.trim().length < shortestKey) {
      findings.error(
        place('admin_key'),
        `is shorter than ${shortestKey} characters, so it can be guessed`,
        `write ${shortestKey} random characters or more, as \`openssl rand -base64 24\` makes them`,
      );
    }
    if (main.expansion.unexpanded(['server', 'admin_key']) === null) {
      findings.warn(place('admin_key'), 'this key stands in the file itself', 'keep the key in the environment and write ${NAME}');
    }
  });
}

/**
 * Reports a host that is not valid, and one at which other machines could reach
 * a gateway without keys. `isGiven`: the command line says it, and not the file.
 */
function judgeHost(
  host: string,
  { isGuarded, bound, isGiven }: Pick<ServerFacts, 'isGuarded' | 'bound'> & { readonly isGiven: boolean },
  report: (text: string, fix: string) => void,
): void {
  if (isIP(host) === 0 && !/^[\w.-]+$/.test(host)) {
    const [, inBrackets, name = inBrackets] = /^(?:\w+:\/\/)?(?:\[([^\]]+)\]|([^\s:/*[\]]+))(?:[:/]|$)/.exec(host) ?? [];
    // a name with other letters has a form in ASCII
    const known = name === undefined || isIP(name) > 0 ? name : domainToASCII(name) || undefined;
    report(
      `${isGiven ? `--host ${JSON.stringify(host)} ` : ''}is neither an IP address nor a name: it has no brackets, scheme or port`,
      `write ${known ?? '0.0.0.0 for all addresses of this machine'}`,
    );
  } else if (!isGuarded && !isLoopback(host)) {
    report(
      `other machines can reach the gateway on ${isGiven ? '--host ' : ''}${host}, and there are no keys`,
      `add \`keys\`, or ${isGiven ? 'start with --host' : 'write host:'} 127.0.0.1`,
    );
  } else if (!isGuarded && bound !== null && !isLoopback(bound.address)) {
    // safety: a reload closes no port, so without keys the gateway would be open to every machine that reaches it now
    report(
      `the running gateway listens on ${bound.address} until it is restarted, where other machines can reach it, and there are no keys`,
      'keep `keys`, or restart the gateway with this file',
    );
  }
}

/**
 * Why no browser sends an origin in this form; null: browsers do. Origins
 * are compared as texts, so such a form would silently allow nothing.
 */
function faultOfOrigin(written: string): { readonly text: string; readonly fix: string } | null {
  if (written === '*') return null;
  if (written.includes('*')) {
    return { text: 'has a * inside, which matches no origin, so it allows nothing', fix: 'write each origin, or "*" for all' };
  }
  const origin = URL.parse(written)?.origin;
  // the schemes of extensions and of apps have no common form
  const isOwn = origin === 'null' && /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(written);
  if (origin === written || isOwn) return null;
  if (origin === undefined || origin === 'null') {
    return { text: 'is no origin: a scheme, a host and perhaps a port', fix: 'write it like https://app.example' };
  }
  return { text: 'is not how browsers write this origin, so it allows nothing', fix: `write ${origin}` };
}

/**
 * @param workers the processes that share the limits.
 * safety: a changed `server.workers` waits for a restart, and until then the sum over the processes that run must stay the same
 */
function resolveLimits({ limits }: ServerBlock, workers: number): Server['limits'] {
  const ofHeap = defaultsOfHeap();
  // each worker counts for itself, and has a heap of its own
  const share = (ofMachine: number | undefined): number | null => (ofMachine === undefined ? null : Math.ceil(ofMachine / workers));
  return {
    body: limits.body,
    inFlightBytes: share(limits.in_flight_bytes) ?? ofHeap.inFlightBytes,
    inFlightRequests: share(limits.in_flight_requests) ?? ofHeap.inFlightRequests,
    connectionRequests: limits.connection_requests,
    jsonDepth: limits.json_depth,
    headers: limits.headers,
    headerTimeMs: limits.header_time_ms,
    requestTimeMs: limits.request_time_ms,
    upstreamEvent: limits.upstream_event,
    upstreamBody: limits.upstream_body,
    keepAliveMs: limits.keep_alive_ms,
    lameDuckMs: limits.lame_duck_ms,
    drainMs: limits.drain_ms,
  };
}
