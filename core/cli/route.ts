/**
 * `gateway route`: where a request would go, and what it would cost. The
 * gateway that runs answers; where none runs, one is started for this question.
 */
import type { Config } from '../config.ts';
import { createAdminKey } from '../api-key.ts';
import { Exit, UsageError } from '../exit.ts';
import type { FlagValues, Output } from '../host/command.ts';
import type { LoadedPlugin } from '../host/plugin.ts';
import { listen } from '../http/listen.ts';
import { headerValue, isHeaderValue } from '../names.ts';
import type { ExplainedCandidate, Explanation } from '../pipeline/hooks.ts';
import { Secret } from '../secret.ts';
import { jsonText, tableOf } from '../table.ts';
import { askGateway, runningOf } from './ask-running.ts';
import type { Askable, Running } from './ask-running.ts';
import type { StartGateway } from './open-log.ts';

interface RouteParts extends Running, Output {
  readonly plugins: readonly LoadedPlugin[];
  readonly flags: FlagValues;
  readonly words: readonly string[];
  readonly start: StartGateway;
}

export async function printRoute(parts: RouteParts): Promise<void> {
  const { flags, print, say } = parts;
  const question = { method: 'POST', body: bodyOf(parts), headers: headersOf(flags) };
  const found = runningOf(parts, say);
  if (found === null) say('No gateway serves with this config, so the state of its targets is not known.\n');
  const explanation = await (found === null
    ? askOwn(parts, question)
    : ask({ ...found, adminKey: parts.config.server.adminKey }, question));
  print(flags.has('json') ? jsonText(explanation) : textOf(explanation));
}

function bodyOf({ flags, words }: RouteParts): string {
  if (words.length === 0) throw new UsageError('gateway route needs a prompt: gateway route --model auto "Why is the sky blue?"');
  const effort = flags.text('effort');
  const most = flags.number('max-tokens');
  return JSON.stringify({
    model: flags.text('model') ?? 'auto',
    messages: [{ role: 'user', content: words.join(' ') }],
    stream: flags.has('stream'),
    ...(effort !== null && { reasoning_effort: effort }),
    ...(most !== null && { max_tokens: most }),
  });
}

function headersOf(flags: FlagValues): Record<string, string> {
  const key = flags.text('key');
  if (key === '') throw new UsageError('--key needs the name of a key');
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-dry-run': 'true',
    'x-dry-run-key': headerOfFlag('key', key ?? ''),
  };
  for (const pair of flags.all('meta')) {
    const [, name, value] = /^([\w-]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw new UsageError(`--meta takes NAME=VALUE, not "${pair}"`);
    headers[`x-gateway-${name}`] = headerOfFlag('meta', value);
  }
  return headers;
}

function headerOfFlag(flag: string, text: string): string {
  const value = headerValue(text);
  if (!isHeaderValue(value)) throw new UsageError(`--${flag} takes no line breaks and no other control characters`);
  return value;
}

async function ask(gateway: Askable, question: RequestInit): Promise<Explanation> {
  const response = await askGateway(gateway, '/v1/chat/completions', question);
  return (await response.json()) as Explanation;
}

/** Starts a gateway without its log on a port of its own, and asks it. */
async function askOwn({ config, plugins, start }: RouteParts, question: RequestInit): Promise<Explanation> {
  const adminKey = new Secret(createAdminKey());
  const own: Config = { ...config, server: { ...config.server, adminKey } };
  const gateway = await start({
    config: own,
    plugins: plugins.filter(({ plugin: { name, keepsLog } }) => keepsLog !== true && !name.startsWith('log/')),
  });
  try {
    const { url, drain } = await listen({ host: '127.0.0.1', port: 0, limits: config.server.limits, service: () => gateway });
    const explanation = await ask({ url, pid: process.pid, adminKey, name: 'The gateway that was started for this question' }, question);
    await drain(0, []);
    return explanation;
  } finally {
    await gateway.close();
  }
}

function textOf({ candidates, limits }: Explanation): string {
  if (candidates.length === 0) throw new Exit(1, 'There is no candidate.');
  const table = tableOf(candidates, [
    { title: '', isNumber: true, read: (candidate) => (candidate.standing ? String(candidates.indexOf(candidate) + 1) : '–') },
    { title: 'PROVIDER', read: ({ provider }) => provider },
    { title: 'MODEL', read: ({ model }) => model },
    { title: 'TARGET', read: ({ target }) => target },
    { title: 'AT MOST $', isNumber: true, read: ({ estimatedCost }) => estimatedCost ?? '?' },
    { title: 'WHY', read: whyOf },
  ]);
  return limits.length === 0 ? table : `${table}\n${limitTable(limits)}`;
}

/** A plugin may add limits of any shape, so the columns are the fields that some limit has. */
function limitTable(limits: Explanation['limits']): string {
  const rows = limits.map((limit) => new Map<string, unknown>(Object.entries(limit)));
  const names = Array.from(new Set(rows.flatMap((row) => [...row.keys()]))).filter((name) =>
    rows.some((row) => (row.get(name) ?? null) !== null),
  );
  return tableOf(
    rows,
    names.map((name) => ({
      title: name.toUpperCase(),
      isNumber: rows.every((row) => !Number.isNaN(Number(row.get(name) ?? 0))),
      read: (row) => cellOf(row.get(name) ?? ''),
    })),
  );
}

const cellOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 60) : (JSON.stringify(value) ?? ''));

const whyOf = ({ standing, by, reason }: ExplainedCandidate): string =>
  `${standing ? '' : 'ruled out: '}${reason ?? ''}${by === null ? '' : ` (${by})`}`;
