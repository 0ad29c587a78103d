/**
 * The parent of the workers (`server.workers`): it has the port, and serves no request itself. It reads a changed config first, has
 * every worker build a gateway with it, and only then makes all of them use it. If one worker refuses a config, no worker uses it.
 */
import { createServer } from 'node:net';
import type { Bound, Config } from '../config.ts';
import { Exit, messageOf, refusalOf } from '../exit.ts';
import type { RunningGateway } from '../host/gateway.ts';
import type { LoadedPlugin, ParentProcess } from '../host/plugin.ts';
import { ConfigWatch } from '../host/reload.ts';
import type { Rebuilt, Replaced } from '../host/reload.ts';
import { States } from '../host/state.ts';
import { bindPlain, contextOf } from '../http/bind.ts';
import { fdOf } from '../http/listen.ts';
import { createLogger } from '../logger.ts';
import type { Write } from '../logger.ts';
import type { ParentSide, Peer, Relay } from '../workers/relay.ts';
import { Crew } from './crew.ts';
import type { LastReload } from '../host/reloads/history.ts';
import type { Known } from './orders.ts';
import { isFaulty, refuseOpenPort } from './serving.ts';
import type { Beginning, Read, Serving, Starting } from './serving.ts';

/** The gateways of all workers, with one config. */
class WorkerGateways implements Replaced {
  readonly config: Config;
  readonly pages: RunningGateway['pages'];
  readonly running = { size: 0 };
  /** The gateways are only built, or in use, or no longer in use. */
  #state: 'built' | 'used' | 'former' = 'built';
  readonly #crew: Crew;

  constructor(crew: Crew, config: Config, pages: RunningGateway['pages']) {
    this.#crew = crew;
    this.config = config;
    this.pages = pages;
  }

  use(): void {
    this.#state = 'used';
  }

  drain(): void {
    this.#state = 'former';
  }

  leave(): void {
    this.#crew.leave();
  }

  /** Ends the workers of the gateway in use, and drops a gateway that was built and not used. Workers end former gateways by themselves. */
  async close(): Promise<void> {
    if (this.#state === 'used') await this.#crew.end('end', 0);
    if (this.#state === 'built') this.#crew.tellAll('drop');
  }
}

/** The parts of plugins that run in the parent. They outlive reloads, as the state of plugins does. */
class Sides {
  readonly #states = new States();
  readonly #relay: Relay;
  readonly #write: Write;
  #release = (): void => {};

  constructor(relay: Relay, write: Write) {
    this.#relay = relay;
    this.#write = write;
  }

  /** Replaces the parts for the former config by parts for this config. */
  adopt({ config, plugins }: Pick<Read, 'config' | 'plugins'>): void {
    const held = this.#states.forGateway();
    const release = (): void => {
      for (const { plugin, error } of held.release()) createLogger(this.#write, { plugin }).error('a plugin failed to close', { error });
    };
    const sideOf = (loaded: LoadedPlugin): [string, ParentSide][] => {
      const { name } = loaded.plugin;
      const logger = createLogger(this.#write, { plugin: name });
      const side = sideAtParent(loaded, { config, logger, state: held.of(name), ask: this.#relay.ask(name) });
      return side === undefined ? [] : [[name, side]];
    };
    try {
      this.#relay.adopt(new Map(plugins.flatMap(sideOf)));
    } catch (error) {
      release();
      throw error;
    }
    this.#release();
    this.#release = release;
  }
}

/**
 * The part of a plugin that runs in the parent; undefined: it has none. Throws an error with the plugin's name where the plugin refuses.
 */
function sideAtParent(loaded: LoadedPlugin, parent: ParentProcess): ParentSide | undefined {
  const { plugin, options } = loaded;
  try {
    const side = plugin.atParent?.(parent, options);
    if (side !== undefined && typeof (side as Partial<ParentSide> | null)?.answer !== 'function') {
      throw new TypeError('atParent() must return { answer }');
    }
    return side;
  } catch (cause) {
    throw new Exit(1, refusalOf(loaded, cause));
  }
}

class Parent {
  readonly #starting: Starting;
  readonly #crew: Crew;
  readonly #sides: Sides;
  #config: Config;
  #pages: RunningGateway['pages'] = [];
  #bound: Bound | null = null;
  #readAgain = (): void => {};
  /** The certificate that was used last; null: the port is plain. A config that turns TLS on or off waits for a restart. */
  #tls: Config['server']['tls'];

  constructor(starting: Starting, first: Read, write: Write) {
    this.#starting = starting;
    this.#config = starting.withAdminKey(first.config);
    this.#tls = first.config.server.tls;
    this.#crew = new Crew({
      count: first.config.server.workers,
      logger: starting.logger,
      known: () => this.#known(),
      aligned: (worker, hash) => void this.#align(worker, hash),
    });
    this.#sides = new Sides(this.#crew.relay, write);
    this.#sides.adopt(first);
  }

  async serve({ read: first, readAt, inherited }: Beginning): Promise<Serving> {
    const crew = this.#crew;
    const { server } = first.config;
    this.#pages = (await crew.first()).pages;
    const port = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => crew.pass(socket));
    const { url, address } = await bindPlain(port, { ...server, inherited });
    const bound = { address, workers: server.workers };
    this.#bound = bound;
    refuseOpenPort(address, first.config, inherited);
    await crew.others();
    let current = new WorkerGateways(crew, this.#config, this.#pages);
    current.use();
    const watching = new ConfigWatch<WorkerGateways>({
      logger: this.#starting.logger,
      files: first.files,
      bound: server,
      readAt,
      rebuild: () => this.#rebuild(bound, url),
      swap: (next) => {
        const old = current;
        current = next;
        current.use();
        this.#config = next.config;
        this.#tls &&= next.config.server.tls ?? this.#tls;
        crew.adopt({ at: Date.now(), problems: null });
        return old;
      },
    });
    this.#readAgain = () => watching.again();
    const endAll = async (how: 'drain' | 'hand over', drainMs: number): Promise<void> => {
      port.close();
      await crew.end(how, drainMs);
    };
    return {
      current: () => current,
      watching: { stop: () => watching.stop(), readNow: () => watching.readNow(), retiring: new Set() },
      listening: {
        url,
        leave: () => {},
        drain: (drainMs) => endAll('drain', drainMs),
        handOver: (drainMs) => endAll('hand over', drainMs),
        get fd() {
          return fdOf(port);
        },
      },
    };
  }

  /** Ends the workers of a start that failed. */
  giveUp(): Promise<void> {
    return this.#crew.end('end', 0);
  }

  #known(): Known {
    const adminKeys = Array.from(this.#starting.unkeptKeys, ([dataDir, key]) => [dataDir, key.reveal()] as const);
    return { ...(this.#bound !== null && { bound: this.#bound }), tls: this.#tls === null ? null : contextOf(this.#tls), adminKeys };
  }

  async #rebuild(bound: Bound, url: string): Promise<Rebuilt<WorkerGateways>> {
    const again = await this.#starting.read(bound);
    const refused = (problems: string): Rebuilt<WorkerGateways> => {
      this.#crew.tellAll('drop', { at: Date.now(), problems } satisfies LastReload);
      return { problems, files: again.files };
    };
    if (isFaulty(again)) return refused(again.problems);
    try {
      const config = this.#starting.withAdminKey(again.config);
      this.#starting.tellAdminKey(url, this.#pages);
      const problems = await this.#crew.prepare();
      if (problems !== null) return refused(problems);
      this.#sides.adopt(again);
      return { gateway: new WorkerGateways(this.#crew, config, this.#pages), files: again.files };
    } catch (error) {
      return refused(messageOf(error));
    }
  }

  /** Aligns a worker that has just begun, because it may have read another version of the config than the others use. */
  async #align(worker: Peer, hash: string): Promise<void> {
    if (hash === this.#config.hash) return;
    const prepared = await this.#crew.prepareOne(worker);
    if ('problems' in prepared) {
      return this.#starting.logger.error('a worker uses another config than the others', {
        worker: worker.number,
        problems: prepared.problems,
      });
    }
    worker.channel.assure('adopt', { at: Date.now(), problems: null } satisfies LastReload);
    // this worker has read a config that the others have refused, or have not read yet
    if (prepared.hash !== this.#config.hash) this.#readAgain();
  }
}

/** Starts the workers and opens the port. Throws an Exit where a worker refuses, and as `bindPlain` does. */
export async function serveWithWorkers(starting: Starting, beginning: Beginning, write: Write): Promise<Serving> {
  const parent = new Parent(starting, beginning.read, write);
  try {
    return await parent.serve(beginning);
  } catch (error) {
    await parent.giveUp();
    throw error;
  }
}
