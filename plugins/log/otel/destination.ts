/**
 * Decides where traces are sent and under which name: by the YAML, and where the YAML says nothing, by OpenTelemetry's environment
 * variables. A wrong setting must not stop a gateway from starting: it is reported in the process log, without its secrets, and
 * ignored.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../../core/logger.ts';
import { isHeaderName, isHeaderValue } from '../../../core/names.ts';
import { version } from '../../../core/version.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of the YAML; an empty text means that the YAML does not have the setting. */
export interface Wanted {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service_name: string;
}

/** Where and how traces are sent. */
export interface Destination {
  /** The address for traces, without credentials. */
  readonly url: URL;
  /** Headers of each export; their names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of this gateway. */
  readonly resource: Readonly<Record<string, string>>;
}

/** The id of this process; a reload keeps it. */
const instance = randomUUID();

/** The destination by YAML and environment; null where no traces are to be sent. Settings that cannot be used are reported to `logger`. */
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
    // safety: what is before an `@`, and a query, may be secrets, also where the text is no valid address
    const endpoint = address.text.replace(/[?#].*$/s, '').replace(/^.*@/s, '***@');
    logger.warn('no traces are exported: the endpoint is not an http or https address', { endpoint, write: likely(endpoint) });
    return null;
  }
  if (url.port === '4317') {
    logger.warn(
      'port 4317 is usually the port of OTLP over gRPC, which the gateway does not speak; the port of OTLP over HTTP is usually 4318',
      { collector: url.host },
    );
  }
  return { url: bare(url), headers: headersOf({ url, wanted, env }, logger), resource: resourceOf(wanted, env, logger) };
}

interface Address {
  readonly text: string;
  /** Whether the address is complete; if not, `/v1/traces` must be added. */
  readonly isWhole: boolean;
}

function addressOf(written: string, env: Environment): Address | null {
  const ofTraces = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const ofAll = valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  // the shipped config has a reference to the address for all signals; the address for traces must still win over it
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

/** The URL without its credentials. */
function bare(url: URL): URL {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  return copy;
}

/** The address that was probably meant, where the scheme is missing or is that of gRPC. */
function likely(text: string): string {
  const [, host, port = ':4318', path = ''] = /^(?:[a-z][\w+.-]*:\/\/)?([^/:\s]+)(:\d+)?(\/\S*)?$/i.exec(text) ?? [];
  return host === undefined ? 'http://localhost:4318' : `http://${host}${port === ':4317' ? ':4318' : port}${path}`;
}

function headersOf({ url, wanted, env }: { url: URL; wanted: Wanted; env: Environment }, logger: Logger): Record<string, string> {
  const ofTraces = 'OTEL_EXPORTER_OTLP_TRACES_HEADERS';
  const listed = listOf(valueOf(env, ofTraces) === '' ? 'OTEL_EXPORTER_OTLP_HEADERS' : ofTraces, env, logger);
  const headers: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(listed), ...credentials(url), ...Object.entries(wanted.headers)]) {
    headers[name.toLowerCase()] = value.trim();
  }
  for (const [name, value] of Object.entries(headers)) {
    if (isHeaderName(name) && isHeaderValue(value)) continue;
    // safety: fetch would refuse this header with an error that quotes its value
    delete headers[name];
    logger.warn(
      'traces are exported without a header whose name or value is not valid in HTTP',
      isHeaderName(name) ? { header: name } : {},
    );
  }
  return headers;
}

/** The authorization header for credentials in a URL, because fetch refuses a URL with credentials. */
function credentials({ username, password }: URL): [name: string, value: string][] {
  if (username === '' && password === '') return [];
  return [
    ['authorization', `Basic ${Buffer.from(`${decoded(username) ?? username}:${decoded(password) ?? password}`).toString('base64')}`],
  ];
}

function resourceOf(wanted: Wanted, env: Environment, logger: Logger): Record<string, string> {
  const listed = listOf('OTEL_RESOURCE_ATTRIBUTES', env, logger);
  const named = wanted.service_name || valueOf(env, 'OTEL_SERVICE_NAME') || listed['service.name'] || 'model-gateway';
  return { 'service.version': version, 'service.instance.id': instance, ...listed, 'service.name': named };
}

/**
 * The entries of a variable `name=value,name=value`, percent-decoded. A
 * variable with a fault is ignored as a whole, as the standard demands.
 */
function listOf(variable: string, env: Environment, logger: Logger): Record<string, string> {
  const list: Record<string, string> = {};
  for (const entry of valueOf(env, variable).split(',')) {
    if (entry.trim() === '') continue;
    const [, name = '', written = ''] = /^\s*([^\s=]+)\s*=(.*)$/s.exec(entry) ?? [];
    const key = decoded(name);
    const value = decoded(written.trim());
    if (!key || value === null) {
      logger.warn('an environment variable is ignored, because it is not a list of name=value', {
        variable,
        write: 'name=value,name=value, with %2C for a comma and %25 for a percent sign',
      });
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
