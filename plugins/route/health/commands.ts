/** `gateway targets`: the targets of the running gateway and their state. `gateway targets wake NAME` ends a rest. */
import { UsageError } from '../../../core/exit.ts';
import type { Command, CommandRun } from '../../../core/host/command.ts';
import { counted, jsonText, tableOf } from '../../../core/table.ts';
import type { Column } from '../../../core/table.ts';
import type { ShownTarget } from './routes.ts';

export const targetCommands: readonly Command<never>[] = [
  {
    name: 'targets',
    summary: 'list the targets of the running gateway: which rest or are asked last, why and until when',
    words: '[wake NAME]',
    flags: { all: { type: 'boolean', short: 'a', help: 'also those without a call in the last 30 s' } },
    examples: ['gateway targets', 'gateway targets wake my-server/my-model'],
    run: (run) => (run.words.length === 0 ? list(run) : wake(run)),
  },
];

/** Whether the target neither rests nor is asked last. */
const isWell = ({ state, askedLastUntil }: ShownTarget): boolean => state === 'standing' && askedLastUntil === undefined;

async function list({ askRunning, flags, json, print }: CommandRun<never>): Promise<void> {
  const { data } = (await (await askRunning('/api/targets')).json()) as { data: ShownTarget[] };
  if (json) return print(jsonText(data));
  const chosen = flags.has('all') ? data : data.filter((target) => !isWell(target) || target.calls > 0);
  const rows = chosen.toSorted((a, b) => Number(isWell(a)) - Number(isWell(b)));
  if (rows.length > 0) print(`${tableOf(rows, columns)}\n`);
  print(`${summaryOf(data)}${chosen.length < data.length ? '; --all also lists those without a call in the last 30 s' : ''}\n`);
}

/** `12 targets, 1 at rest, 1 to be tried again, 2 asked last` */
function summaryOf(targets: readonly ShownTarget[]): string {
  const resting = targets.filter(({ state }) => state === 'resting').length;
  const trying = targets.filter(({ state }) => state === 'trying').length;
  const last = targets.filter((target) => target.state === 'standing' && !isWell(target)).length;
  return [
    counted(targets.length, 'target'),
    ...(resting > 0 ? [`${resting} at rest`] : trying > 0 ? [] : ['none rests']),
    ...(trying > 0 ? [`${trying} to be tried again`] : []),
    ...(last > 0 ? [`${last} asked last`] : []),
  ].join(', ');
}

const columns: readonly Column<ShownTarget>[] = [
  { title: 'TARGET', read: ({ target }) => target },
  { title: 'STATE', read: (target) => (target.state !== 'standing' || isWell(target) ? target.state : 'asked last') },
  { title: 'UNTIL (UTC)', read: ({ restsUntil, askedLastUntil }) => (restsUntil ?? askedLastUntil)?.slice(11, 19) ?? '' },
  { title: 'WHY', read: ({ why, askedLastUntil }) => why ?? (askedLastUntil === undefined ? '' : 'outrun') },
  { title: 'CALLS 30 S', isNumber: true, read: ({ calls }) => String(calls) },
  { title: 'FAILED', isNumber: true, read: ({ failures }) => String(failures) },
];

async function wake({ askRunning, words: [verb, name, ...more], json, print }: CommandRun<never>): Promise<void> {
  if (verb !== 'wake' || name === undefined || more.length > 0) {
    throw new UsageError('Write `gateway targets`, or `gateway targets wake NAME` with a name of that list.');
  }
  const woken = (await (await askRunning(`/api/targets/wake?name=${encodeURIComponent(name)}`, { method: 'POST' })).json()) as ShownTarget;
  print(json ? jsonText(woken) : `${name} is available; the next request may ask it\n`);
}
