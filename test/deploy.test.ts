/** The files below deploy/ are right: the config loads, and versions, paths, flags, ports, probes and times agree. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../config/load.ts';
import type { Loaded } from '../config/load.ts';
import { shippedPlugins } from '../config/shipped-plugins.ts';
import { parseCommandLine } from '../core/cli/command-line.ts';
import { containersText } from '../schemas/containers.ts';
import { loadPlugin, oneUpstream } from './_kit/gateway.ts';
import { gatewayOf } from './core/scene.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const yaml = (file: string): unknown => parse(read(file));

const facts = JSON.parse(read('package.json')) as { version: string; devDependencies: Record<string, string> };
const dockerfile = read('deploy/Dockerfile');
const configFile = 'deploy/chart/config/gateway.config.yaml';
const env = {
  ADMIN_KEY: 'admin-0123456789abcdef',
  CALLER_KEY: 'sk-caller-0123456789',
  DATABASE_URL: 'postgres://gateway@postgres:5432/gateway',
  REDIS_URL: 'redis://redis:6379',
};

interface Service {
  readonly image: string;
  readonly volumes: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly ports?: readonly string[];
}
const compose = yaml('deploy/compose.yaml') as { services: Record<string, Service>; volumes: object };
const gateway = compose.services['gateway'] as Service;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: any;
}
const manifests = parseAllDocuments(read('deploy/kubernetes/gateway.yaml')).map((document) => document.toJS() as Manifest);
const ofKind = (kind: string): Manifest => manifests.find((one) => one.kind === kind) as Manifest;
const pod = ofKind('StatefulSet').spec.template.spec;
const container = pod.containers[0];

const chart = yaml('deploy/chart/Chart.yaml') as { version: string; appVersion: string };
const values = yaml('deploy/chart/values.yaml') as Record<string, unknown>;
const templates = globSync('deploy/chart/templates/*', { cwd: root }).map(read);
const statefulSet = read('deploy/chart/templates/statefulset.yaml');
const unit = read('deploy/systemd/gateway.service');
/** The value of a setting of the unit: `ExecStart`, `User`, … */
const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

/** The words of an instruction that is written as JSON. */
const wordsOf = (instruction: string): string[] =>
  JSON.parse(new RegExp(`^(?:${instruction})\\s+(\\[.*\\])$`, 'm').exec(dockerfile)?.[1] ?? '[]') as string[];

describe('the config of containers', () => {
  let loaded: Extract<Loaded, { ok: true }>;
  beforeAll(async () => {
    const result = await loadConfig(join(root, configFile), { env, loadPlugin: (name) => loadPlugin(name, root), shippedPlugins });
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    loaded = result;
  });

  it('loads without a warning, listens for other machines, and has keys', () => {
    expect(loaded.warnings).toEqual([]);
    expect(loaded.config.server).toMatchObject({ host: '0.0.0.0', port: 4000, dataDir: '/var/lib/gateway', isGuarded: true });
    expect(loaded.config.server.adminKey?.reveal()).toBe(env.ADMIN_KEY);
    expect(loaded.config.redis?.url.reveal()).toBe(env.REDIS_URL);
  });

  it('is the shipped config with the log in PostgreSQL, and up to date with npm run generate', () => {
    expect(read(configFile)).toBe(containersText(read('gateway.config.yaml')));
    expect(loaded.plugins.map(({ plugin }) => plugin.name)).toEqual(shippedPlugins);
    expect(loaded.plugins.find(({ plugin }) => plugin.name === 'log/journal')?.options).toMatchObject({
      store: 'postgres',
      url: env.DATABASE_URL,
    });
    expect(() => containersText('server: {}\n')).toThrow('no block "include"');
  });

  it('fits the time that the containers have to stop', () => {
    const { lameDuckMs, drainMs } = loaded.config.server.limits;
    const seconds = (lameDuckMs + drainMs) / 1000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
    expect(values['terminationGracePeriodSeconds']).toBe(pod.terminationGracePeriodSeconds);
    expect(gateway.stop_grace_period).toBe(`${pod.terminationGracePeriodSeconds}s`);
  });

  it('gets its variables: those without a default are in compose.yaml, or in the .env of its first lines', () => {
    const needed = Object.keys(env);
    for (const name of needed) expect(read(configFile).split('\n\n')[0], name).toContain(name);
    const made = /for name in ([A-Z_ ]+); do/.exec(read('deploy/compose.yaml'))?.[1]?.split(' ') ?? [];
    expect([...Object.keys(gateway.environment ?? {}), ...made]).toEqual(expect.arrayContaining(needed));
    for (const page of ['deploy/kubernetes/gateway.yaml', 'deploy/README.md']) {
      for (const name of needed) expect(read(page)).toContain(`${name}=`);
    }
    expect(read('deploy/README.md')).toContain(`for name in ${made.join(' ')}; do`);
  });
});

describe('the image', () => {
  it('has the Node version of this project', () => {
    expect(/^ARG NODE=(.*)$/m.exec(dockerfile)?.[1]).toBe(facts.devDependencies['node']);
  });

  it('is built from files that exist, and leaves out files that must not be in it', () => {
    expect(existsSync(join(root, 'deploy', gateway.build?.context ?? '', gateway.build?.dockerfile ?? ''))).toBe(true);
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(['.git', 'node_modules', 'data', '**/.env*']));
  });

  it.each([
    ['its command', (): string[] => wordsOf('CMD')],
    ['the manifests', (): string[] => container.args],
    ['the chart', (): string[] => parse(/args: (\[.*\])/.exec(statefulSet)?.[1] ?? '')],
  ])('starts with a valid command line: %s', (_, words) => {
    const parsed = parseCommandLine(words());
    if (parsed.kind !== 'core') throw new Error(parsed.kind);
    expect([parsed.name, parsed.flags.text('host'), parsed.flags.number('port')]).toEqual(['start', '0.0.0.0', 4000]);
    expect(dockerfile).toMatch(/^EXPOSE 4000$/m);
  });

  it('has its config and its data at the paths of the other deployments', () => {
    expect([/^WORKDIR (\/etc.*)$/m.exec(dockerfile)?.[1], /^VOLUME (.*)$/m.exec(dockerfile)?.[1]]).toEqual([
      '/etc/gateway',
      '/var/lib/gateway',
    ]);
    expect(gateway.volumes).toEqual(['./chart/config:/etc/gateway:ro', 'journal:/var/lib/gateway']);
    expect(container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toEqual([
      '/etc/gateway',
      '/var/lib/gateway',
      '/tmp',
    ]);
  });

  it('runs as the same user everywhere, and that user is not root', () => {
    expect(/^USER (\d+):/m.exec(dockerfile)?.[1]).toBe(String(pod.securityContext.runAsUser));
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532 });
    expect(dockerfile).toContain('--chown=65532:65532 /data /var/lib/gateway');
  });
});

describe('every version', () => {
  it('is that of package.json', () => {
    expect([chart.version, chart.appVersion, gateway.image, container.image]).toEqual([
      facts.version,
      facts.version,
      `model-gateway:${facts.version}`,
      `model-gateway:${facts.version}`,
    ]);
    expect(new Set(read('deploy/README.md').match(/model-gateway:[\d.]+/g))).toEqual(new Set([`model-gateway:${facts.version}`]));
  });
});

describe('probes and scrapes', () => {
  it('ask for paths that answer', async () => {
    const { get } = await gatewayOf(
      oneUpstream('http://127.0.0.1:9/v1', { keys: [{ name: 'first', key: env.CALLER_KEY }], server: { admin_key: env.ADMIN_KEY } }),
      {},
    );
    const probes = [
      ...Object.values(container).flatMap((part: any) => part?.httpGet?.path ?? []),
      ...Array.from(statefulSet.matchAll(/path: (\/\w[\w/]*)/g), ([, path = '']) => path),
      ...wordsOf('HEALTHCHECK.*\\\\\\n\\s+CMD').flatMap((word) => /127\.0\.0\.1:4000([\w/]+)/.exec(word)?.[1] ?? []),
    ];
    expect(probes).toHaveLength(7);
    for (const path of new Set(probes)) expect((await get(path)).status, path).toBe(200);
    const scrapes = [read('deploy/kubernetes/servicemonitor.yaml'), read('deploy/chart/templates/servicemonitor.yaml')].map(
      (text) => /path: (\S+)/.exec(text)?.[1] ?? '',
    );
    for (const path of scrapes) expect((await get(path, { authorization: `Bearer ${env.ADMIN_KEY}` })).status).toBe(200);
  });

  it('name services, ports and keys that exist', () => {
    const {
      scrape_configs: [job],
      rule_files: rules,
    } = yaml('deploy/prometheus/prometheus.yml') as {
      scrape_configs: { static_configs: { targets: string[] }[]; authorization: { credentials_file: string } }[];
      rule_files: string[];
    };
    expect(job?.static_configs[0]?.targets).toEqual(['gateway:4000']);
    expect(job?.authorization.credentials_file).toBe('/run/secrets/admin_key');
    expect(compose.services['prometheus']?.volumes.filter((volume) => rules.some((file) => volume.includes(`:${file}`)))).toHaveLength(1);
    const {
      datasources: [source],
    } = yaml('deploy/grafana/provisioning/datasources/prometheus.yaml') as { datasources: { uid: string; url: string }[] };
    expect(new URL(source?.url ?? '').hostname in compose.services).toBe(true);
    expect(new Set(read('deploy/grafana/dashboards/model-gateway.json').match(/"uid": "prometheus"/g)).size).toBe(1);
    expect(source?.uid).toBe('prometheus');
    const {
      spec: {
        endpoints: [endpoint],
      },
    } = yaml('deploy/kubernetes/servicemonitor.yaml') as Manifest;
    expect(endpoint).toMatchObject({
      port: container.ports[0].name,
      authorization: { credentials: { name: container.envFrom[0].secretRef.name, key: 'ADMIN_KEY' } },
    });
  });
});

describe('each mounted file', () => {
  it('exists', () => {
    for (const { volumes } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        expect(source.startsWith('.') ? existsSync(join(root, 'deploy', source)) : source in compose.volumes, volume).toBe(true);
      }
    }
  });
});

describe('the chart', () => {
  it('has the container of the manifests', () => {
    const lines = (text: string): string[] =>
      text
        .slice(text.indexOf('terminationGracePeriodSeconds'))
        .split('\n')
        .map((line) => line.trim());
    const ours = lines(statefulSet).filter((line) =>
      /Probe:|args:|ports:|Filesystem|Escalation|capabilities:|runAs|fsGroup|seccomp|mountPath|emptyDir/.test(line),
    );
    expect(ours).toHaveLength(18);
    expect(lines(read('deploy/kubernetes/gateway.yaml'))).toEqual(expect.arrayContaining(ours));
  });

  it('uses the values of values.yaml, all of them and no others', () => {
    const used = new Set(templates.flatMap((text) => [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path)));
    const valueAt = (path: string): unknown => path.split('.').reduce<any>((value, name) => value?.[name], values);
    expect([...used].filter((path) => valueAt(path) === undefined && !path.startsWith('secret.values.'))).toEqual([]);
    expect(Object.keys(values).filter((name) => ![...used].some((path) => path.split('.')[0] === name))).toEqual([]);
  });

  it('keeps values as text: no secret becomes a rounded number, and a storage class may be "-"', () => {
    const [, loop = ''] = read('deploy/chart/templates/secret.yaml').split('range $name, $value');
    expect(loop).toMatch(/kindIs "float64" \$value.*fail/);
    expect(statefulSet).toContain('storageClassName: {{ . | quote }}');
  });

  it('gives pods the labels for an Azure identity, in addition to their selector labels', () => {
    expect(values).toMatchObject({ podLabels: {}, podAnnotations: {}, serviceAccount: { annotations: {} } });
    expect(statefulSet.split('  template:')[1]).toMatch(
      / {6}labels:\n {8}\{\{- include "gateway\.selector" \. \| nindent 8 \}\}\n {8}\{\{- with \.Values\.podLabels \}\}\n {8}\{\{- toYaml \. \| nindent 8 \}\}\n/,
    );
  });

  it('reads the config from a file of the chart', () => {
    const file = /\.Files\.Get "([^"]+)"/.exec(read('deploy/chart/templates/configmap.yaml'))?.[1] ?? '';
    expect(join('deploy/chart', file)).toBe(configFile);
  });
});

describe('the unit of systemd', () => {
  it('starts with a valid command line, and leaves the gateway time to stop', () => {
    const [program, ...words] = setting('ExecStart').split(' ');
    expect(program).toMatch(/node_modules\/\.bin\/gateway$/);
    expect('gateway' in (JSON.parse(read('package.json')) as { bin: object }).bin).toBe(true);
    const parsed = parseCommandLine(words);
    if (parsed.kind !== 'core') throw new Error(parsed.kind);
    expect([parsed.name, parsed.flags.text('config')]).toEqual(['start', '/etc/gateway/gateway.config.yaml']);
    expect(Number(setting('TimeoutStopSec'))).toBeGreaterThan(120);
  });

  it('has one socket with one port, as the gateway needs it', () => {
    expect(read('deploy/systemd/gateway.socket').match(/^ListenStream=/gm)).toHaveLength(1);
    expect(setting('Requires')).toBe('gateway.socket');
  });
});
