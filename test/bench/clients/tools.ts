/**
 * The installed clients. They are too big for dev dependencies: they are installed once, into a folder
 * among the temporary files, and used from there the next time. `GATEWAY_CLIENTS` names another folder.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const versions = {
  claudeCode: '2.1.330',
  codex: '0.169.0',
  // litellm imports mcp for each call with tools, but does not list it as a dependency
  python: { openai: '2.54.0', anthropic: '2.12.0', litellm: '1.106.2', mcp: '2.3.0' },
  openaiJava: '4.101.0',
  portkey: '1.15.2',
} as const;

const folder = process.env['GATEWAY_CLIENTS'] ?? join(tmpdir(), 'model-gateway-clients');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface How {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly seconds?: number;
}

/**
 * Runs a program to its end, without input. Its environment has only the
 * search path of this process, so it has no key of the machine's user.
 */
export async function run(words: readonly string[], { cwd = folder, env = {}, seconds = 120 }: How = {}): Promise<Ran> {
  const startedAt = performance.now();
  const child = spawn(words[0] as string, words.slice(1), {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes: Buffer) => (stdout += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', resolve);
  });
  return { code, stdout, stderr, seconds: (performance.now() - startedAt) / 1000 };
}

/** The environment that installers need: the user's registries and caches, and the CA certificates of a proxy. */
const own = (): Record<string, string> =>
  Object.fromEntries(
    ['HOME', 'NODE_EXTRA_CA_CERTS', 'PIP_CERT', 'SSL_CERT_FILE'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  );

async function installed(file: string, steps: readonly (readonly string[])[], cwd: string): Promise<string | null> {
  if (existsSync(file)) return file;
  mkdirSync(cwd, { recursive: true });
  for (const words of steps) {
    process.stderr.write(`installing: ${words.join(' ')}\n`);
    const { code, stderr } = await run(words, { cwd, env: own(), seconds: 600 });
    if (code !== 0) {
      process.stderr.write(`${stderr.slice(-500)}\n`);
      return null;
    }
  }
  return existsSync(file) ? file : null;
}

/** A command from npm; null where it cannot be installed. */
export const commandOf = (name: string, version: string, command: string): Promise<string | null> => {
  const cwd = join(folder, `${command}-${version}`);
  return installed(
    join(cwd, 'node_modules/.bin', command),
    [['npm', 'install', '--prefix', cwd, '--no-audit', '--no-fund', `${name}@${version}`]],
    cwd,
  );
};

/** A Python with the SDKs; null where they cannot be installed. */
export const pythonOf = async (): Promise<string | null> => {
  const wanted = Object.entries(versions.python).map(([name, version]) => `${name}==${version}`);
  const cwd = join(folder, `python-${wanted.join('-').replaceAll('==', '-')}`);
  const python = join(cwd, 'bin/python');
  const marker = join(cwd, 'bin/litellm');
  return (await installed(
    marker,
    [
      ['python3', '-m', 'venv', cwd],
      [python, '-m', 'pip', 'install', '--quiet', ...wanted],
    ],
    cwd,
  )) === null
    ? null
    : python;
};

/** The command of LiteLLM with its proxy; null where it cannot be installed. */
export const litellmProxyOf = async (): Promise<string | null> => {
  const wanted = `litellm[proxy]==${versions.python.litellm}`;
  const cwd = join(folder, `litellm-proxy-${versions.python.litellm}`);
  return await installed(
    join(cwd, 'bin/litellm'),
    [
      ['python3', '-m', 'venv', cwd],
      [join(cwd, 'bin/python'), '-m', 'pip', 'install', '--quiet', wanted],
    ],
    cwd,
  );
};

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>clients</artifactId><version>1</version>
<dependencies><dependency><groupId>com.openai</groupId><artifactId>openai-java</artifactId><version>${versions.openaiJava}</version></dependency></dependencies></project>`;

/** The folder with the jars of the Java SDK. */
export const javaOf = async (): Promise<string | null> => {
  const cwd = join(folder, `openai-java-${versions.openaiJava}`);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'pom.xml'), pom);
  const jar = join(cwd, `lib/openai-java-core-${versions.openaiJava}.jar`);
  return (await installed(jar, [['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib']], cwd)) === null
    ? null
    : join(cwd, 'lib');
};
