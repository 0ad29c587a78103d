/** A worker without a gateway: it reports the messages that it gets, and does what the parent asks. */
import { Channel } from '../../../core/workers/channel.ts';
import { WorkerPeers } from '../../../core/workers/peers.ts';

/** How long this worker waits for the answers of the others. */
const withinMs = 900;
const number = Number(process.argv[2]);
const channel = new Channel(process);
const all = new WorkerPeers(channel, number);
const peers = all.forGateway().of('test/plugin');
peers.on('news', (message, from) => channel.tell('heard', [message, from]));
peers.answer('name', (message) => {
  if (message === 'never') return new Promise(() => {});
  if (message === 'fail') throw new Error('not in the mood');
  return `${String(message)} ${number}`;
});
let next = all.forGateway();
channel.on('use', () => all.use());
channel.on('build', () => {
  next = all.forGateway();
  for (const topic of ['name', 'new topic']) next.of('test/plugin').answer(topic, (message) => `${String(message)} of the next`);
});
channel.on('drop', () => next.release());
channel.on('echo', (message) => message);
channel.on('broadcast', (message) => peers.broadcast('news', message));
channel.on('tell', (to) => peers.tell(to as number, 'news', 'for you'));
channel.on('ask', async (message) => await peers.ask('name', message, withinMs));
channel.on('at parent', async (message) => await peers.atParent(message, withinMs).catch((error: unknown) => String(error)));
channel.on('connection', (id, socket) => socket?.end(`worker ${number} has ${String(id)}`));
channel.tell('up');
