/** One process that serves by itself (`server.workers: 1`). */
import { messageOf } from '../exit.ts';
import type { RunningGateway } from '../host/gateway.ts';
import { ConfigWatch, reloadBootMs } from '../host/reload.ts';
import type { Rebuilt } from '../host/reload.ts';
import { watchLoop } from '../host/threads/watchdog.ts';
import { prepareToBind } from '../http/bind.ts';
import { listen } from '../http/listen.ts';
import { exit, isFaulty, refuseOpenPort } from './serving.ts';
import type { Beginning, Serving, Starting } from './serving.ts';

export async function serveAlone(
  { logger, places, read, build, tellAdminKey }: Starting,
  { read: first, readAt, inherited }: Beginning,
): Promise<Serving> {
  const { config } = first;
  prepareToBind({ ...config.server, inherited });
  let current = await build(first).catch(exit);
  const listening = await listen({ ...config.server, inherited, service: () => current });
  const { url, address, adopt } = listening;
  refuseOpenPort(address, config, inherited);

  const rebuild = async (): Promise<Rebuilt> => {
    const again = await read({ address, workers: config.server.workers });
    if (isFaulty(again)) return again;
    try {
      const gateway = await build(again, { bootMs: reloadBootMs });
      tellAdminKey(url, gateway.pages);
      return { gateway, files: again.files };
    } catch (error) {
      return { problems: messageOf(error), files: again.files };
    }
  };
  const swap = (next: RunningGateway): RunningGateway => {
    const old = current;
    current = next;
    adopt(next.config.server);
    return old;
  };
  const watching = new ConfigWatch({ logger, files: first.files, bound: config.server, rebuild, swap, readAt });
  watchLoop(places);
  return { current: () => current, listening, watching };
}
