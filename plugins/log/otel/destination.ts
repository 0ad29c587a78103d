/**
 * Where traces go and under which name: what the YAML says, and where it says nothing OpenTelemetry's own environment variables.
 * Telemetry keeps no gateway from starting: what cannot be used is said, without the secrets in it, and left out.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../../core/logger.ts';
import { version } from '../../../core/version.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** As in the YAML; empty: not said. */
export interface Wanted {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service_name: string;
}

export interface Destination {
  /** Without credentials. */
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the process that is traced. */
  readonly resource: Readonly<Record<string, string>>;
}

/** A reload is no new process. */
const instance = randomUUID();

/** Null: nothing is exported. */
export function destinationOf(wanted: Wanted, env: Environment, logger: Logger): Destination | null {
  const address = addressOf(wanted.endpoint.trim(), env);
  if (address === null) return null;
  const by = turnedOffBy(env);
  if (by !== null) {
    logger.info('no traces are exported: the environment turns them off', { by });
    return null;
  }
  const url = urlOf(address);
  if (url === null) {
    logger.warn('no traces are exported: the endpoint is no address of OTLP over HTTP', { endpoint: withoutSecrets(address.text), write: likely(withoutSecrets(address.text)) });
    return null;
  }
  if (url.port === '4317') logger.warn('port 4317 is usually that of OTLP over gRPC, which is not spoken here; OTLP over HTTP is usually at 4318', { collector: url.host });
  return { url: bare(url), headers: headersOf({ url, wanted, env }, logger), resource: resourceOf(wanted, env, logger) };
}

interface Address {
  readonly text: string;
  /** It is that of traces; else their path is still to be added. */
  readonly isWhole: boolean;
}

function addressOf(written: string, env: Environment): Address | null {
  const ofTraces = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const ofAll = valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  // the shipped config repeats the one for all signals, and the one for traces goes before that
  if (ofTraces !== '' && (written === '' || written === ofAll)) return { text: ofTraces, isWhole: true };
  const text = written === '' ? ofAll : written;
  return text === '' ? null : { text, isWhole: false };
}

const valueOf = (env: Environment, name: string): string => env[name]?.trim() ?? '';

function turnedOffBy(env: Environment): string | null {
  if (valueOf(env, 'OTEL_SDK_DISABLED').toLowerCase() === 'true') return 'OTEL_SDK_DISABLED';
  return valueOf(env, 'OTEL_TRACES_EXPORTER').toLowerCase() === 'none' ? 'OTEL_TRACES_EXPORTER' : null;
}

function urlOf({ text, isWhole }: Address): URL | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, '');
  if (!isWhole && !path.endsWith('/v1/traces')) url.pathname = `${path}/v1/traces`;
  return url;
}

function bare(url: URL): URL {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  return copy;
}

/** Credentials stand before an `@` or in a query, even in what is no address. */
const withoutSecrets = (text: string): string => text.replace(/[?#].*$/s, '').replace(/^.*@/s, '***@');

/** What is probably meant by an address that has no scheme, or that of gRPC. */
function likely(text: string): string {
  const [, host, port = ':4318', path = ''] = /^(?:[a-z][\w+.-]*:\/\/)?([^/:\s]+)(:\d+)?(\/\S*)?$/i.exec(text) ?? [];
  return host === undefined ? 'http://localhost:4318' : `http://${host}${port === ':4317' ? ':4318' : port}${path}`;
}

function headersOf({ url, wanted, env }: { url: URL; wanted: Wanted; env: Environment }, logger: Logger): Record<string, string> {
  const ofTraces = 'OTEL_EXPORTER_OTLP_TRACES_HEADERS';
  const listed = listOf(valueOf(env, ofTraces) === '' ? 'OTEL_EXPORTER_OTLP_HEADERS' : ofTraces, env, logger);
  const headers: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(listed), ...credentials(url), ...Object.entries(wanted.headers)]) headers[name.toLowerCase()] = value.trim();
  for (const [name, value] of Object.entries(headers)) {
    if (isName(name) && isValue(value)) continue;
    // safety: fetch would refuse it with an error that quotes it
    delete headers[name];
    logger.warn('traces are exported without a header that HTTP does not take', isName(name) ? { header: name } : {});
  }
  return headers;
}

const isName = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text);
const isValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

/** fetch takes no address with a user in it. */
function credentials({ username, password }: URL): [name: string, value: string][] {
  if (username === '' && password === '') return [];
  return [['authorization', `Basic ${Buffer.from(`${decoded(username) ?? username}:${decoded(password) ?? password}`).toString('base64')}`]];
}

function resourceOf(wanted: Wanted, env: Environment, logger: Logger): Record<string, string> {
  const listed = listOf('OTEL_RESOURCE_ATTRIBUTES', env, logger);
  const named = wanted.service_name || valueOf(env, 'OTEL_SERVICE_NAME') || listed['service.name'] || 'model-gateway';
  return { 'service.version': version, 'service.instance.id': instance, ...listed, 'service.name': named };
}

/** `name=value,name=value`, percent-encoded. With a fault in it nothing of it counts, as the standard asks. */
function listOf(variable: string, env: Environment, logger: Logger): Record<string, string> {
  const list: Record<string, string> = {};
  for (const entry of valueOf(env, variable).split(',')) {
    if (entry.trim() === '') continue;
    const [, name = '', written = ''] = /^\s*([^\s=]+)\s*=(.*)$/s.exec(entry) ?? [];
    const key = decoded(name);
    const value = decoded(written.trim());
    if (!key || value === null) {
      logger.warn('an environment variable is not used: it is no list', { variable, write: 'name=value,name=value, with %2C for a comma and %25 for a percent sign' });
      return {};
    }
    list[key] = value;
  }
  return list;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
