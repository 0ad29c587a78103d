/** The garbage of the start of a thread: when it is collected. */
import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const collect = JSON.stringify(new URL('../../../../core/host/threads/collect.ts', import.meta.url).href);

/** The output of a process that runs this code. `collected` is called at a collection of the whole heap. */
const outputOf = (code: string): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `
  import { constants, PerformanceObserver } from 'node:perf_hooks';
  import { collectAfterStart } from ${collect};
  let collected = () => {};
  new PerformanceObserver((list) => list.getEntries().some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) && collected()).observe({ entryTypes: ['gc'] });
  const keep = setInterval(() => {}, 1000);
  const say = (text) => { console.log(text); clearInterval(keep); };
  collectAfterStart();
  ${code}`,
    ],
    { encoding: 'utf8', timeout: 120_000 },
  ).trim();

test('the garbage of the start is collected once the thread has nothing to do', () => {
  expect(outputOf('collected = () => say("collected");')).toBe('collected');
});

test('the garbage of the start stays while the thread is busy', () => {
  // the thread works half of the time: a thread counts as busy from 10 % on, and work without pauses would take twice the CPU
  const code =
    'const until = performance.now() + 3000; collected = () => say("collected"); const work = () => { const end = performance.now() + 50; while (performance.now() < end); if (performance.now() < until) setTimeout(work, 50); else say("served"); }; work();';
  expect(outputOf(code)).toBe('served');
});

test('waiting for the collection does not keep the process alive', () => {
  expect(outputOf('clearInterval(keep); console.log("ends");')).toBe('ends');
});

test('no thread fails where several threads collect their garbage at one time', () => {
  const thread = `
    import { workerData as ready } from 'node:worker_threads';
    import { collectAfterStart } from ${collect};
    if (Atomics.add(ready, 0, 1) + 1 === ready[1]) Atomics.notify(ready, 0);
    for (let seen = ready[0]; seen < ready[1]; seen = ready[0]) Atomics.wait(ready, 0, seen);
    for (let at = 0; at < 40; at++) collectAfterStart();
    setTimeout(() => {}, 4000);`;
  const code = `
    const { Worker } = await import('node:worker_threads');
    const ready = new Int32Array(new SharedArrayBuffer(8));
    ready[1] = 6;
    const broken = [];
    const threads = Array.from({ length: ready[1] }, () => new Worker(${JSON.stringify(thread)}, { eval: true, workerData: ready }).on('error', (error) => broken.push(error.message)));
    await Promise.all(threads.map((one) => new Promise((resolve) => one.on('exit', resolve))));
    say(broken[0] ?? 'all ended');`;
  expect(outputOf(code)).toBe('all ended');
});

test('V8 knows each flag that is set: it would write an error for another one', () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import { collectAsForRequests } from ${collect}; collectAsForRequests();`],
    { encoding: 'utf8' },
  );
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
});
