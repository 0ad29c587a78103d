/** The address to which log/otel sends traces: from the YAML or OpenTelemetry's environment variables, and their faults. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../../core/logger.ts';
import { destinationOf } from '../../../plugins/log/otel/destination.ts';
import type { Destination, Environment, Wanted } from '../../../plugins/log/otel/destination.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import { contentOf, gatewayOf, provider } from '../../core/scene.ts';
import { plain, startCollector } from './otel-collector.ts';

interface Found {
  readonly to: Destination | null;
  readonly lines: Record<string, unknown>[];
}

/** The settings that a YAML and an environment give. */
function found(wanted: Partial<Wanted>, env: Environment = {}): Found {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger((line) => void lines.push(JSON.parse(line) as Record<string, unknown>));
  return { to: destinationOf({ endpoint: '', headers: {}, service_name: '', ...wanted }, env, logger), lines };
}

const urlOf = (wanted: Partial<Wanted>, env: Environment = {}): string | undefined => found(wanted, env).to?.url.href;

describe('the address', () => {
  it('is that of the YAML, with the path of traces', () => {
    expect(urlOf({ endpoint: 'http://collector:4318' })).toBe('http://collector:4318/v1/traces');
    expect(urlOf({ endpoint: 'https://collector/base/?a=b' })).toBe('https://collector/base/v1/traces?a=b');
    expect(urlOf({ endpoint: 'http://collector:4318/v1/traces' })).toBe('http://collector:4318/v1/traces');
  });

  it('is otherwise that of the environment', () => {
    expect(urlOf({}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' })).toBe('http://collector:4318/v1/traces');
    expect(urlOf({}, {})).toBeUndefined();
    expect(urlOf({}, { OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeUndefined();
  });

  it('for traces alone is used as it is, before the address for all signals', () => {
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:4318/in', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4318' };
    expect(urlOf({}, env)).toBe('http://traces:4318/in');
    // as in the shipped config
    expect(urlOf({ endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT }, env)).toBe('http://traces:4318/in');
    expect(urlOf({ endpoint: 'http://mine:4318' }, env)).toBe('http://mine:4318/v1/traces');
  });

  it.each([
    ['otel-collector:4317', 'http://otel-collector:4318'],
    ['otel-collector', 'http://otel-collector:4318'],
    ['grpc://otel-collector:4317', 'http://otel-collector:4318'],
    ['127.0.0.1:4318/base', 'http://127.0.0.1:4318/base'],
    ['http://', 'http://localhost:4318'],
    ['[::1]:4317', 'http://localhost:4318'],
  ])('that is invalid, %j, turns traces off, and the log says what to write', (endpoint, write) => {
    expect(found({ endpoint })).toEqual({
      to: null,
      lines: [
        expect.objectContaining({
          level: 'warn',
          msg: 'no traces are exported: the endpoint is not an http or https address',
          endpoint,
          write,
        }),
      ],
    });
  });

  it('at the port of gRPC raises a warning', () => {
    const { to, lines } = found({ endpoint: 'http://collector:4317' });
    expect(to?.url.port).toBe('4317');
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringContaining('4318') }]);
  });
});

describe('credentials in the address', () => {
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

  it('become a header', () => {
    const { to, lines } = found({ endpoint: 'http://user:s3cret%40pass@collector:4318' });
    expect(to?.url.href).toBe('http://collector:4318/v1/traces');
    expect(to?.headers).toEqual({ authorization: basic('user:s3cret@pass') });
    expect(lines).toEqual([]);
  });

  it('may be a user alone, and may have a percent sign that encodes nothing', () => {
    expect(found({ endpoint: 'http://token@collector' }).to?.headers).toEqual({ authorization: basic('token:') });
    expect(found({ endpoint: 'http://user:100%@collector' }).to?.headers).toEqual({ authorization: basic('user:100%') });
  });

  it('are replaced by a header of the YAML', () => {
    expect(found({ endpoint: 'http://user:pass@collector', headers: { Authorization: 'Bearer mine' } }).to?.headers).toEqual({
      authorization: 'Bearer mine',
    });
  });

  it.each(['user:s3cret@collector:4318', 'grpc://user:s3cret@collector', 'http://user:s3cret@', 'collector:4318?key=s3cret'])(
    'of %j, which is not an address, are in no line of the log',
    (endpoint) => {
      const { to, lines } = found({ endpoint });
      expect(to).toBeNull();
      expect(lines).toHaveLength(1);
      expect(JSON.stringify(lines)).not.toContain('s3cret');
    },
  );
});

const endpoint = 'http://collector:4318';

describe('headers', () => {
  it('come from the environment, percent-encoded or not, and those of the YAML replace them', () => {
    const env = { OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%2Cb, x-key = abc== ,,x-plain=Bearer c' };
    expect(found({ endpoint }, env).to?.headers).toEqual({ authorization: 'Bearer a,b', 'x-key': 'abc==', 'x-plain': 'Bearer c' });
    expect(found({ endpoint, headers: { 'X-Key': 'mine' } }, env).to?.headers).toMatchObject({ 'x-key': 'mine' });
  });

  it('for traces alone replace those for all signals', () => {
    const env = { OTEL_EXPORTER_OTLP_HEADERS: 'a=1', OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2' };
    expect(found({ endpoint }, env).to?.headers).toEqual({ b: '2' });
  });

  it.each(['Authorization: Bearer s3cret==', 's3cret', '=s3cret', 'a=1,b=s3cret%'])(
    'of a list with a fault, %j, are not used, and the log does not quote it',
    (OTEL_EXPORTER_OTLP_HEADERS) => {
      const { to, lines } = found({ endpoint }, { OTEL_EXPORTER_OTLP_HEADERS });
      expect(to?.headers).toEqual({});
      expect(lines).toMatchObject([{ level: 'warn', variable: 'OTEL_EXPORTER_OTLP_HEADERS' }]);
      expect(JSON.stringify(lines)).not.toContain('s3cret');
    },
  );

  it('that are not valid in HTTP are left out, and the log does not quote them', () => {
    const { to, lines } = found({ endpoint, headers: { 'x-good': 'yes', 'x-bad': 's3cret\nmore', 's3cret name': 'a' } });
    expect(to?.headers).toEqual({ 'x-good': 'yes' });
    expect(lines).toMatchObject([{ level: 'warn', header: 'x-bad' }, { level: 'warn' }]);
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });
});

describe('the process', () => {
  it('has the name of the YAML, of OTEL_SERVICE_NAME, of OTEL_RESOURCE_ATTRIBUTES, or its default', () => {
    const listed = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=listed' };
    const named = { ...listed, OTEL_SERVICE_NAME: 'named' };
    const nameOf = (wanted: Partial<Wanted>, env: Environment): string | undefined =>
      found({ endpoint, ...wanted }, env).to?.resource['service.name'];
    expect([nameOf({ service_name: 'mine' }, named), nameOf({}, named), nameOf({}, listed), nameOf({}, {})]).toEqual([
      'mine',
      'named',
      'listed',
      'model-gateway',
    ]);
  });

  it('has the attributes of OTEL_RESOURCE_ATTRIBUTES', () => {
    const { to } = found({ endpoint }, { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,team=a%2Cb' });
    expect(to?.resource).toMatchObject({ 'deployment.environment.name': 'prod', team: 'a,b', 'service.version': expect.any(String) });
  });

  it('has a generated id, unless the environment gives one', () => {
    const idOf = (env: Environment): string | undefined => found({ endpoint }, env).to?.resource['service.instance.id'];
    expect(idOf({})).toMatch(/^[\da-f-]{36}$/);
    expect(idOf({})).toBe(idOf({}));
    expect(idOf({ OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-7' })).toBe('pod-7');
  });

  it.each([{ OTEL_SDK_DISABLED: 'True' }, { OTEL_TRACES_EXPORTER: 'none' }])('exports nothing with %j', (env) => {
    expect(found({ endpoint }, env)).toEqual({ to: null, lines: [expect.objectContaining({ level: 'info', by: Object.keys(env)[0] })] });
    expect(found({}, env).lines).toEqual([]);
  });

  it.each([{ OTEL_SDK_DISABLED: 'false' }, { OTEL_SDK_DISABLED: '1' }, { OTEL_TRACES_EXPORTER: 'otlp' }])('exports with %j', (env) => {
    expect(urlOf({ endpoint }, env)).toBe('http://collector:4318/v1/traces');
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a gateway', () => {
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT';

  /** A gateway whose log/otel is that of the shipped config. */
  async function withEnvironment(env: Record<string, string>): Promise<TestGateway> {
    for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value);
    const plugins = quietPlugins.map((use) => (use === 'log/otel' ? { use, with: { endpoint: `\${${name}:-}` } } : use));
    return await gatewayOf({ ...oneUpstream((await provider()).url), plugins }, { env });
  }

  it('starts and serves with a gRPC address in its environment', async () => {
    const gateway = await withEnvironment({ [name]: 'otel-collector:4317' });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(gateway.lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', plugin: 'log/otel', endpoint: 'otel-collector:4317', write: 'http://otel-collector:4318' },
    ]);
  });

  it('exports to the address of its environment', async () => {
    const collector = await startCollector();
    const gateway = await withEnvironment({
      [name]: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer x',
      OTEL_SERVICE_NAME: 'my-service',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod',
    });
    await gateway.chat({});
    await gateway.close();
    const [{ headers, json }] = collector.asked as [(typeof collector.asked)[0]];
    expect(headers.authorization).toBe('Bearer x');
    expect(plain(json['resourceSpans'][0].resource.attributes)).toMatchObject({
      'service.name': 'my-service',
      'deployment.environment.name': 'prod',
      'service.instance.id': expect.any(String),
    });
  });

  it('exports to an address with credentials, and no line of its log shows them', async () => {
    const collector = await startCollector((response) => void response.writeHead(500).end('no'));
    const gateway = await withEnvironment({ [name]: collector.url.replace('//', '//user:s3cretpass@') });
    await gateway.chat({});
    await gateway.close();
    expect(collector.asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('user:s3cretpass').toString('base64')}`);
    expect(gateway.lines.join('\n')).toContain('traces are dropped');
    expect(gateway.lines.join('\n')).not.toMatch(/s3cretpass|user:/);
  });
});
