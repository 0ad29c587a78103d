/**
 * `gateway doctor`: looks at all that a gateway with this config needs, and says of each part how it is and what to do. It serves nothing.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { within } from '../../cancellation.ts';
import type { Config } from '../../config.ts';
import { Exit, messageOf } from '../../exit.ts';
import type { Output } from '../../host/command.ts';
import type { AnyPlugin, Finding, LoadedPlugin } from '../../host/plugin.ts';
import { RedisClient } from '../../host/redis.ts';
import type { Logger } from '../../logger.ts';
import { counted, jsonText, printable, printableJson, printableLines } from '../../table.ts';
import { version } from '../../version.ts';
import { isFields } from '../../wire/fields.ts';
import { allRunning, isAnswering, partsDown } from '../ask-running.ts';
import { folderOf } from '../running-files.ts';
import type { RunningProcess } from '../running-files.ts';
import { contentsOf } from '../banner.ts';

interface DoctorParts extends Output {
  readonly json: boolean;
  /** The config file, with its whole path. */
  readonly file: string;
  /** The good config with its plugins and the text of its warnings; or its faults as text. */
  readonly read:
    | { readonly config: Config; readonly plugins: readonly LoadedPlugin[]; readonly warnings: string }
    | { readonly faults: string };
  /** Takes what parts of the gateway write into the process log. */
  readonly logger: Logger;
}

export async function examine({ json, print, file, read, logger }: DoctorParts): Promise<void> {
  const findings = [ofProgram(), ...('faults' in read ? [ofFaults(file, read.faults)] : await ofConfig(file, read, logger))];
  print(json ? printableJson(jsonText(findings)) : textOf(findings));
  const faults = findings.filter(({ state }) => state === 'fault').length;
  if (faults > 0) throw new Exit(1, `${counted(faults, 'fault')}.`);
}

const ofProgram = (): Finding => ({
  part: 'version',
  state: 'good',
  text: `${version}, on Node ${process.versions.node}, ${process.platform} ${process.arch}`,
});

const ofFaults = (file: string, faults: string): Finding => ({
  part: 'config',
  state: 'fault',
  text: `${file} cannot be used; the other parts are checked once it can\n${faults}`,
  fix: 'fix these places; gateway check checks only the config',
});

async function ofConfig(
  file: string,
  { config, plugins, warnings }: Exclude<DoctorParts['read'], { faults: string }>,
  logger: Logger,
): Promise<Finding[]> {
  const first: Finding =
    warnings === ''
      ? { part: 'config', state: 'good', text: `${file}: ${contentsOf(config)}` }
      : { part: 'config', state: 'warning', text: `${file}\n${warnings}`, fix: 'fix these places, or leave those that are intended' };
  const dialects = new Map(plugins.flatMap(({ plugin }) => plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));
  const others = await Promise.all([
    ofServing(config, file),
    ofRedis(config, logger),
    ...plugins.map(({ plugin, options }) => checkup(plugin.name, () => plugin.checkup?.({ config, dialects, logger }, options))),
  ]);
  return [first, ofDisk(config), ...others.flat()];
}

const states: ReadonlySet<unknown> = new Set(['good', 'note', 'warning', 'fault']);
const isFinding = (value: unknown): boolean =>
  isFields(value) && typeof value['part'] === 'string' && typeof value['text'] === 'string' && states.has(value['state']);

const late = Symbol('late');

/**
 * The findings of a plugin. They are checked, because a plugin may be JavaScript without types.
 * @param patienceMs safety: without it a plugin that waits for ever keeps back the findings of all
 * parts, or Node, where nothing else is open, ends with exit code 13 and does not name the plugin
 */
export async function checkup(
  part: string,
  look: () => ReturnType<NonNullable<AnyPlugin['checkup']>> | undefined,
  patienceMs = 30_000,
): Promise<readonly Finding[]> {
  try {
    const findings: unknown = (await within(Promise.resolve(look()), patienceMs, late)) ?? [];
    if (findings === late) throw new Error(`it did not answer within ${patienceMs / 1000} s`);
    if (Array.isArray(findings) && findings.every(isFinding)) return findings as Finding[];
    throw new TypeError('checkup() must give a list of { part, state, text, fix }, the state one of good, note, warning and fault');
  } catch (error) {
    return [{ part, state: 'fault', text: `the plugin cannot check its part: ${messageOf(error)}` }];
  }
}

async function ofServing(config: Config, file: string): Promise<readonly Finding[]> {
  const running = allRunning({ config, file });
  return running.length === 0
    ? [{ part: 'serving', state: 'note', text: 'no gateway serves with this config on this machine' }]
    : await Promise.all(running.map(ofRunning));
}

async function ofRunning({ url, pid }: RunningProcess): Promise<Finding> {
  if (!(await isAnswering(url))) {
    return {
      part: 'serving',
      state: 'fault',
      text: `the gateway at ${url} does not answer`,
      fix: `see its output; if it hangs, gateway restart cannot reach it: run kill -9 ${pid} and start it again`,
    };
  }
  const down = await partsDown(url);
  return down === ''
    ? { part: 'serving', state: 'good', text: `a gateway serves at ${url}` }
    : { part: 'serving', state: 'fault', text: `a gateway serves at ${url}, and a part is down: ${down}`, fix: 'its output says why' };
}

const mebibyte = 1 << 20;
const gibibyte = 1 << 30;
const roomToDelete = 64 * mebibyte;

const diskFault = (text: string, fix: string): Finding => ({ part: 'disk', state: 'fault', text, fix });

function ofDisk({ server: { dataDir } }: Config): Finding {
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  // a gateway that cannot write its file into this folder serves, but no command finds the gateway
  const running = folderOf(dataDir);
  let looked = folder;
  try {
    accessSync(folder, constants.W_OK);
    if (existsSync(running)) looked = running;
    accessSync(looked, constants.W_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
      ? diskFault(
          `${looked} is on a disk that is mounted read-only`,
          'find out why (dmesg) and mount it for writing, or name another folder in server.data_dir',
        )
      : diskFault(
          `${looked} cannot be written by this user`,
          'give the folder to the user of the gateway, or name another one in server.data_dir',
        );
  }
  if (!statSync(folder).isDirectory()) return diskFault(`${folder} is a file, not a folder`, 'name a folder in server.data_dir');
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  // some file systems make inodes as they are needed, and count none
  if (files > 0 && ffree === 0) {
    return diskFault(
      `${folder}: no file can be made, because the disk has no free inodes`,
      'delete files that nobody needs; df -i shows how many there are',
    );
  }
  return roomText(dataDir, bavail * bsize);
}

/** The finding about the free bytes of a data directory. */
export function roomText(dataDir: string, free: number): Finding {
  const room = free < gibibyte ? `${Math.floor(free / mebibyte)} MiB` : `${(free / gibibyte).toFixed(1)} GiB`;
  const text = `${dataDir}: ${room} free`;
  if (free < roomToDelete) {
    // SQLite writes to its file before it can delete
    return diskFault(text, 'make space in another way: gateway logs prune and a lower retention_days need some space themselves');
  }
  return free < gibibyte
    ? { part: 'disk', state: 'warning', text, fix: 'make space on the disk, or lower retention_days and run gateway logs prune' }
    : { part: 'disk', state: 'good', text };
}

async function ofRedis({ redis }: Config, logger: Logger): Promise<Finding> {
  if (redis === null) return { part: 'redis', state: 'note', text: 'none: this gateway counts limits by itself' };
  const client = new RedisClient(redis.url, logger);
  await client.open();
  const { connected, error } = await client.health();
  client[Symbol.dispose]();
  if (connected) return { part: 'redis', state: 'good', text: 'answers' };
  const fix = redisFixes[error ?? ''];
  return {
    part: 'redis',
    state: 'fault',
    text: `${fix === undefined ? 'does not answer' : 'cannot be used'}: ${error ?? 'it did not say why'}`,
    fix: fix ?? 'start Redis, or fix redis.url',
  };
}

/** The fix for a Redis that answers and cannot be used. */
const redisFixes: Readonly<Partial<Record<string, string>>> = {
  auth_failed: 'set the right user and password in redis.url',
  certificate:
    'set NODE_EXTRA_CA_CERTS to the file with the certificate of the authority, and write in redis.url the host name that the certificate of Redis is for',
  loading: 'wait until Redis has read its data',
  no_database: 'end redis.url with the number of a database that this Redis has and that the user of redis.url may select',
  replica: 'set redis.url to the address of the primary, or of a proxy that follows the primary',
  sentinel: 'set redis.url to the address of the primary, or of a proxy that follows the primary; a Sentinel keeps no data',
};

const marks: Readonly<Record<Finding['state'], string>> = { good: '✓', note: '·', warning: '!', fault: '✗' };

function textOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length));
  const lines = findings.map(({ part, state, text, fix }) => {
    const beside = text.includes('\n') ? '\n  → ' : ' → ';
    const advice = fix === undefined ? '' : beside + printable(fix);
    return `${marks[state]} ${part.padEnd(width)}  ${printableLines(text)}${advice}\n`;
  });
  return lines.join('');
}
