/**
 * Finds code that no test checks: breaks the given files in small ways, one at a time, in a copy of the repository, runs the given
 * tests, and prints each broken line with which all of them pass (a survivor).
 *
 *   npm run mutate -- --files core/http/body.ts --tests test/core/http [--sample 40] [--seed 1]
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAst } from 'vitest/node';

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A piece of a file, and its replacement. */
interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Change = Pick<Mutant, 'start' | 'end' | 'text'>;

const root = resolve(import.meta.dirname, '..');
const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
  '*': '/',
  '-': '+',
};
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode);

/** Types have no effect when the program runs. */
const isTypeOnly = ({ type }: Node): boolean =>
  type.startsWith('TS') && !['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'].includes(type);

function changesOf(source: string): Change[] {
  const changes: Change[] = [];
  const visit = (node: Node): void => {
    if (isTypeOnly(node) || node.type === 'ImportDeclaration') return;
    changes.push(...changesAt(node, source));
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node);
  return changes;
}

function changesAt(node: Node, source: string): Change[] {
  const { type, start, end, operator, left, right, test, body, value, expression } = node;
  const textOf = (part: Node): string => source.slice(part.start, part.end);
  const other = typeof operator === 'string' ? swapped[operator] : undefined;
  if (other !== undefined && isNode(left) && isNode(right)) {
    const at = source.indexOf(operator as string, left.end);
    return [{ start: at, end: at + (operator as string).length, text: other }];
  }
  if (isNode(test) && type !== 'SwitchCase') return [{ start: test.start, end: test.end, text: `!(${textOf(test)})` }];
  if (type === 'ExpressionStatement' && isNode(expression) && isStep(expression)) return [{ start, end, text: ';' }];
  if (type.includes('Function') && isNode(body) && body.type === 'BlockStatement' && body.end > body.start + 2) {
    return [{ start: body.start + 1, end: body.start + 1, text: ' return; ' }];
  }
  if (type === 'Literal' && typeof value === 'number') return [{ start, end, text: String(value + 1) }];
  if (type === 'Literal' && typeof value === 'boolean') return [{ start, end, text: String(!value) }];
  return [];
}

/** Whether an expression has an effect: a call, also one with `await` or `void`, or an assignment. */
const isStep = ({ type, argument }: Node): boolean =>
  ['CallExpression', 'AssignmentExpression', 'UpdateExpression'].includes(type) || (isNode(argument) && isStep(argument));

/** A random sample, the same for the same seed (mulberry32), in the order of the files. */
function sampled<T>(all: readonly T[], count: number, seed: number): T[] {
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    const again = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    return ((again ^ (again >>> 14)) >>> 0) / 2 ** 32;
  };
  const chosen = new Set(
    all
      .map((one) => ({ one, rank: random() }))
      .sort((a, b) => a.rank - b.rank)
      .slice(0, count)
      .map(({ one }) => one),
  );
  return all.filter((one) => chosen.has(one));
}

let kill = (): void => {};

/** Null where every test passes; otherwise the output. A run that does not end in time counts as failed. */
async function failureOf(copy: string, tests: readonly string[], withinMs: number): Promise<string | null> {
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--bail', '1', '--maxWorkers', '1', ...tests], {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => void output.push(part));
  // the process group, because a killed test leaves gateways behind
  kill = () => void process.kill(-(child.pid as number), 'SIGKILL');
  const timer = setTimeout(kill, withinMs);
  const code = await new Promise((done) => child.once('exit', done));
  clearTimeout(timer);
  kill = () => {};
  return code === 0 ? null : Buffer.concat(output).toString();
}

function describe({ file, start, end, text }: Mutant, source: string): string {
  const before = source.slice(0, start);
  const short = (piece: string): string => piece.trim().replaceAll(/\s+/g, ' ').slice(0, 100);
  return `${file}:${before.split('\n').length}:${start - before.lastIndexOf('\n')}  ${short(source.slice(start, end))} → ${short(text)}`;
}

async function run(copy: string, mutants: readonly Mutant[], tests: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const fault = await failureOf(copy, tests, 600_000);
  if (fault !== null) throw new Error(`The tests fail before anything is broken.\n${fault}`);
  const withinMs = 3 * (performance.now() - startedAt) + 30_000;
  let killed = 0;
  for (const [at, mutant] of mutants.entries()) {
    const path = join(copy, mutant.file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end));
    const survives = (await failureOf(copy, tests, withinMs)) === null;
    writeFileSync(path, source);
    if (survives) process.stdout.write(`survives  ${describe(mutant, source)}\n`);
    else killed++;
    process.stderr.write(`${at + 1}/${mutants.length} ${survives ? 'survives' : 'killed'}\n`);
  }
  return killed;
}

/** A copy of the last commit, with the files and the tests as they are now. */
function createCopy(paths: readonly string[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'gateway-mutate-'));
  execFileSync('git', ['worktree', 'add', '--detach', '--force', copy, 'HEAD'], { cwd: root, stdio: 'ignore' });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const path of paths) cpSync(join(root, path), join(copy, path), { recursive: true });
  return copy;
}

/** The arguments between this option and the next one. */
function wordsOf(option: string): string[] {
  const after = process.argv
    .slice(2)
    .join(' ')
    .split(/(?:^| )--/)
    .find((part) => part.startsWith(`${option} `));
  return after?.split(' ').slice(1) ?? [];
}

const [files, tests, [count = '40'], [seed = '1']] = [wordsOf('files'), wordsOf('tests'), wordsOf('sample'), wordsOf('seed')];
if (files.length === 0 || tests.length === 0) {
  throw new Error('Name the files to break and the tests to run: --files core/http/body.ts --tests test/core/http');
}
const all = files.flatMap((file) => changesOf(readFileSync(join(root, file), 'utf8')).map((change): Mutant => ({ file, ...change })));
const mutants = sampled(all, Number(count), Number(seed));
const copy = createCopy([...files, ...tests]);
const removeCopy = (): void => {
  execFileSync('git', ['worktree', 'remove', '--force', copy], { cwd: root });
  rmSync(copy, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    kill();
    removeCopy();
    process.exit(1);
  });
}
try {
  const killed = await run(copy, mutants, tests);
  process.stdout.write(
    `score: ${killed} of ${mutants.length} found (${Math.round((100 * killed) / mutants.length)} %), of ${all.length} possible\n`,
  );
} finally {
  removeCopy();
}
