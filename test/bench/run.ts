/**
 * The cost of the gateway, compared with a bare floor in the same run. `npm run bench` measures all subjects except the soak, the
 * flood, the faults, the restarts, the clients, LiteLLM, Portkey and the flame graph; `npm run bench -- plain stream` measures the
 * named ones. No figure makes the run fail: a slow machine is not a bug. Ratios can be compared between machines, microseconds cannot.
 */
import { machine, tableOf } from './figures.ts';
import type { Subject } from './figures.ts';

const subjects: Readonly<Record<string, () => Promise<{ default: Subject }>>> = {
  plain: () => import('./plain.ts'),
  where: () => import('./where.ts'),
  stream: () => import('./stream.ts'),
  doors: () => import('./doors.ts'),
  latency: () => import('./latency.ts'),
  start: () => import('./start.ts'),
  catalogue: () => import('./catalogue.ts'),
  decode: () => import('./decode.ts'),
  hooks: () => import('./hooks.ts'),
  journal: () => import('./journal.ts'),
  store: () => import('./store.ts'),
  pages: () => import('./pages.ts'),
  cache: () => import('./cache.ts'),
  routing: () => import('./routing.ts'),
  kill: () => import('./kill.ts'),
  soak: () => import('./soak.ts'),
  flame: () => import('./flame.ts'),
  flood: () => import('./flood.ts'),
  workers: () => import('./workers.ts'),
  restarts: () => import('./restarts.ts'),
  faults: () => import('./faults.ts'),
  clients: () => import('./clients.ts'),
  litellm: () => import('./litellm.ts'),
  portkey: () => import('./portkey.ts'),
};

/**
 * The soak takes ten minutes, the faults four, the workers two; the clients, LiteLLM and
 * Portkey are installed from the network, and the flame graph is a file of the repository.
 */
const onlyWhenNamed = new Set(['workers', 'restarts', 'soak', 'flame', 'flood', 'faults', 'clients', 'litellm', 'portkey']);

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(subjects, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no subject ${unknown.join(', ')}. There are: ${Object.keys(subjects).join(', ')}\n`);
  process.exit(2);
}

process.stdout.write(`${machine()}\nThe gateway runs as it ships: every plugin on, its log in SQLite. CPU is that of all its threads.\n`);
for (const name of asked.length > 0 ? asked : Object.keys(subjects).filter((name) => !onlyWhenNamed.has(name))) {
  const { default: subject } = await (subjects[name] as () => Promise<{ default: Subject }>)();
  process.stdout.write(`\n${subject.name}: ${subject.about}\n`);
  process.stdout.write(`${tableOf(await subject.measure())}\n`);
}
process.exit(0);
