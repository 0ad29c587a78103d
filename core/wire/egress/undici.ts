/**
 * The parts of undici that ask a provider.
 * cost: the whole package has 109 files (fetch, WebSocket, cache); these
 * parts save 50 ms of each start and 14 MB of memory (test/bench start).
 */
import { createRequire } from 'node:module';
import type * as undici from 'undici';

const load = createRequire(import.meta.url);

export const Pool = load('undici/lib/dispatcher/pool.js') as typeof undici.Pool;
export const Client = load('undici/lib/dispatcher/client.js') as typeof undici.Client;
export const buildConnector = load('undici/lib/core/connect.js') as typeof undici.buildConnector;
export const { ConnectTimeoutError } = load('undici/lib/core/errors.js') as typeof undici.errors;
