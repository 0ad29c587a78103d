/** Messages between worker processes, through their parent. The processes are real. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Channel } from '../../../core/workers/channel.ts';
import { Relay } from '../../../core/workers/relay.ts';
import type { Peer } from '../../../core/workers/relay.ts';
import { standStill } from '../../_kit/upstream.ts';

interface Started extends Peer {
  readonly child: ChildProcess;
  readonly heard: unknown[];
}

async function startWorker(number: number): Promise<Started> {
  const child = fork(fileURLToPath(new URL('./worker-of-the-test.ts', import.meta.url)), [String(number)]);
  const channel = new Channel(child);
  const heard: unknown[] = [];
  channel.on('heard', (value) => void heard.push(value));
  await new Promise<void>((resolve) => channel.on('up', () => resolve()));
  return { number, channel, child, heard };
}

const own = { plugin: 'test/plugin', topic: 'name' };
/**
 * How long the test waits for a worker: longer than a worker waits for the others. A
 * worker that the machine does not run is late for the others, so the test asks again.
 */
const patienceMs = 60_000;
let workers: Started[] = [];
const relay = new Relay(() => workers);

/** The worker with this number. */
const at = (number: number): Started => workers.find((one) => one.number === number) as Started;

beforeAll(async () => {
  workers = await Promise.all([1, 2, 3].map(startWorker));
  for (const worker of workers) relay.connect(worker);
});

afterAll(() => workers.forEach(({ child }) => child.kill('SIGKILL')));

describe('peers', () => {
  test('get the messages of one worker to all and to one', async () => {
    at(1).channel.tell('broadcast', { text: 'hello' });
    await expect.poll(() => workers.map(({ heard }) => heard)).toEqual([[], [[{ text: 'hello' }, 1]], [[{ text: 'hello' }, 1]]]);
    at(3).channel.tell('tell', 1);
    await expect.poll(() => at(1).heard).toEqual([['for you', 3]]);
    expect(at(2).heard).toHaveLength(1);
  });

  test('answer a question of one worker, and those that fail or are late are left out', async () => {
    const ask = (message: string): Promise<unknown> => at(2).channel.call('ask', message, patienceMs);
    await expect.poll(() => ask('I am')).toEqual(['I am 1', 'I am 3']);
    expect(await ask('fail')).toEqual([]);
    expect(await ask('never')).toEqual([]);
  });

  test('are asked by the parent, all or all but one', async () => {
    const ask = relay.ask(own.plugin);
    await expect.poll(() => ask(own.topic, 'a')).toEqual([1, 2, 3].map((worker) => ({ worker, answer: `a ${worker}` })));
    await expect.poll(() => ask(own.topic, 'b', { except: 2 })).toEqual([1, 3].map((worker) => ({ worker, answer: `b ${worker}` })));
    expect(await ask(own.topic, 'never', { withinMs: 50 })).toEqual([]);
    expect(await ask('unheard of', 'c')).toEqual([]);
  });

  test('answer for the gateway that serves, and for one that is built only where the other has no answer', async () => {
    const ask = relay.ask(own.plugin);
    const answers = async (topic: string): Promise<unknown[]> => (await ask(topic, 'a')).map(({ answer }) => answer);
    for (const order of ['use', 'build'] as const) at(1).channel.tell(order);
    await expect.poll(() => answers(own.topic)).toEqual(['a 1', 'a 2', 'a 3']);
    await expect.poll(() => answers('new topic')).toEqual(['a of the next']);
    at(1).channel.tell('use');
    await expect.poll(() => answers(own.topic)).toEqual(['a of the next', 'a 2', 'a 3']);
    at(1).channel.tell('drop');
    await expect.poll(async () => [await answers(own.topic), await answers('new topic')]).toEqual([['a 1', 'a 2', 'a 3'], []]);
  });

  test('ask the part of their plugin in the parent, and get its errors', async () => {
    const askParent = (worker: number, message: unknown): Promise<unknown> => at(worker).channel.call('at parent', message, patienceMs);
    await expect.poll(() => askParent(1, 1)).toBe('Error: The plugin "test/plugin" runs nothing in the parent process.');
    const gone: number[] = [];
    const answer = (message: unknown, worker: number): unknown => {
      if (message === 'refuse') throw new Error('no room');
      return message === 'wait' ? new Promise(() => {}) : [message, worker];
    };
    relay.adopt(new Map([[own.plugin, { answer, gone: (worker) => void gone.push(worker) }]]));
    await expect.poll(() => askParent(2, { take: 3 })).toEqual([{ take: 3 }, 2]);
    await expect.poll(() => askParent(2, 'refuse')).toBe('Error: no room');
    expect(await askParent(2, 'wait')).toBe('Error: The other process did not answer within 900 ms.');
    relay.gone(2);
    expect(gone).toEqual([2]);
  });
});

describe('a channel', () => {
  test('has an answer that came while this process stood still, also after the time limit', async () => {
    await expect
      .poll(async () => {
        const answer = at(1).channel.call('echo', 'here', 500);
        standStill(1000);
        return await answer.catch(String);
      })
      .toBe('here');
  });

  test('passes a connection to a worker, and keeps it open here too', async () => {
    const given: Socket[] = [];
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      given.push(socket);
      at(1).channel.give('connection', 7, socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [text] = (await once(client, 'data')) as [Buffer];
    expect(String(text)).toBe('worker 1 has 7');
    expect(given.map(({ destroyed }) => destroyed)).toEqual([false]);
    given[0]?.destroy();
    client.destroy();
    server.close();
  });

  test('fails calls to a process that has ended, also those that wait', async () => {
    const worker = await startWorker(4);
    const waiting = worker.channel.call('at parent', 'wait', 60_000).catch(String);
    worker.child.kill('SIGKILL');
    expect(await waiting).toBe('Error: The other process has ended, or reads no messages.');
    expect(worker.channel.isOpen).toBe(false);
    expect(await worker.channel.call('ask', 'x').catch(String)).toBe('Error: The other process has ended, or reads no messages.');
    worker.channel.tell('broadcast', 'nobody hears it');
    worker.channel.give('connection', 1, new Socket());
    await worker.channel.whenClosed;
  });

  test('drops messages for a process that reads none, and fails calls to it', async () => {
    const worker = await startWorker(5);
    worker.child.kill('SIGSTOP');
    const large = 'x'.repeat(100_000);
    for (let at = 0; at < 1100; at++) worker.channel.tell('nothing', large);
    expect(await worker.channel.call('ask', 'x').catch(String)).toBe('Error: The other process has ended, or reads no messages.');
    worker.child.kill('SIGKILL');
  });

  test('keeps an assured message for a process that reads none, also when many messages wait', async () => {
    const worker = await startWorker(6);
    relay.connect(worker);
    worker.child.kill('SIGSTOP');
    for (let said = 0; said < 1100; said++) worker.channel.tell('nothing', 'x'.repeat(10_000));
    expect(await worker.channel.call('ask', 'x').catch(String)).toBe('Error: The other process has ended, or reads no messages.');
    worker.channel.assure('tell', 1);
    worker.child.kill('SIGCONT');
    await expect.poll(() => at(1).heard).toContainEqual(['for you', 6]);
    worker.child.kill('SIGKILL');
  });
});
