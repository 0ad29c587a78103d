/**
 * How a gateway process ends. At SIGTERM or SIGINT it tells load balancers, then closes its port, and its running requests end. At
 * SIGUSR2 (`gateway restart`) it starts the process that follows it, and leaves the port to that one.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { RunningGateway } from '../host/gateway.ts';
import type { Logger } from '../logger.ts';
import type { Serving } from '../run/serving.ts';
import { restartSignal } from './restart.ts';
import type { RunningFile } from './running-files.ts';
import { startSuccessor } from './succession.ts';
import type { Origin, Successor } from './succession.ts';

interface EndingParts extends Serving {
  readonly logger: Logger;
  readonly file: RunningFile;
  readonly origin: Origin;
  /** What the config named when the port was opened. */
  readonly asked: { readonly host: string; readonly port: number };
}

/** Ctrl-C under `npm start` arrives twice, from the terminal and from npm. So does a signal to a group of processes. */
const sameSignalMs = 1000;
/** How often a gateway that npx has started looks whether npx is still there. */
const lookMs = 500;

type ClosePort = (drainMs: number, former: readonly RunningGateway[]) => Promise<void>;

class Ending {
  readonly #parts: EndingParts;
  /** The next process, until it is ready. */
  #successor: Successor | null = null;
  #isHandedOver = false;
  #signals = 0;
  #signalledAt = -Infinity;

  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  /** Ends the process. A second signal ends it without waiting for running streams. @param by what told it to end */
  signalled(by: string): void {
    const now = performance.now();
    if (now - this.#signalledAt < sameSignalMs) return;
    this.#signalledAt = now;
    this.#signals++;
    this.#successor?.end();
    this.#tell(by);
    void (this.#signals > 1 ? this.#endAtOnce() : this.#stop());
  }

  async #endAtOnce(): Promise<void> {
    try {
      await this.#parts.current().close();
    } finally {
      process.exit(0);
    }
  }

  /** Says why the process goes on running, for someone who has pressed Ctrl-C and waits. */
  #tell(by: string): void {
    const { current, logger } = this.#parts;
    if (this.#signals > 1) return logger.warn('the gateway ends at once; its running requests break off', { by });
    const { lameDuckMs, drainMs } = current().config.server.limits;
    logger.info('the gateway ends when its running requests have ended; a second signal ends it at once', {
      by,
      ...(lameDuckMs > 0 && { lameDuckMs }),
      drainMs,
    });
  }

  /** Starts a process that follows this one, and ends this one when it serves. */
  async succeed(): Promise<void> {
    const { listening, asked, origin, file, logger } = this.#parts;
    if (this.#signals > 0 || this.#isHandedOver || this.#successor !== null) return;
    if (origin.noSuccessor !== null) return this.#refuse(5, origin.noSuccessor);
    try {
      this.#successor = startSuccessor(asked, listening.fd);
    } catch (error) {
      return this.#refuse(5, `No process can be started: ${(error as Error).message}`);
    }
    const { outcome, pid } = this.#successor;
    const told = await outcome;
    this.#successor = null;
    // a stop signal has ended both processes
    if (!told.ready && this.#signals > 0) return;
    if (!told.ready) return this.#refuse(told.code, `The new process refused to serve: ${told.reason}`);
    logger.info('another process has taken over the port', { pid });
    this.#isHandedOver = true;
    file.remove();
    if (this.#signals > 0) return;
    await this.#leave((drainMs, former) => listening.handOver(drainMs, former));
  }

  #refuse(code: number, reason: string): void {
    this.#parts.logger.error('the gateway is not restarted; the running process keeps serving', { reason });
    this.#parts.file.refuse({ code, reason });
  }

  async #stop(): Promise<void> {
    const { current, listening } = this.#parts;
    // a gateway that has handed over its port stays ready: a health check on
    // an old connection asks about the port, which the next process serves
    if (!this.#isHandedOver) current().leave();
    await this.#leave(async (drainMs, former) => {
      const { lameDuckMs } = current().config.server.limits;
      if (lameDuckMs > 0 && !this.#isHandedOver) await wait(lameDuckMs);
      await listening.drain(drainMs, former);
    });
  }

  async #leave(closePort: ClosePort): Promise<void> {
    const { current, watching, listening } = this.#parts;
    watching.stop();
    const gateway = current();
    listening.leave();
    const former = [...watching.retiring];
    await closePort(gateway.config.server.limits.drainMs, former);
    await Promise.all([gateway, ...former].map((one) => one.close()));
    process.exit(0);
  }
}

/** Ends the process at a signal, with the code 0. */
export function endOnSignals(parts: EndingParts): void {
  const ending = new Ending(parts);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ending.signalled(signal));
  process.on(restartSignal, () => void ending.succeed());
  process.on('exit', () => parts.file.remove());
  if (process.env['npm_command'] === 'exec' && parts.origin.follows === null) endWithParent(() => ending.signalled('the end of npx'));
}

/**
 * Ends a gateway that npx has started when npx ends. npx starts a shell, which starts the gateway. A signal to npx ends the shell, and
 * the shell hands on no signal, so its end is the only sign. A closed terminal ends npx too, but not a gateway: that one gets SIGHUP.
 */
function endWithParent(end: () => void): void {
  const parent = process.ppid;
  let looksWithout = 0;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    // SIGHUP may come a moment after the end of the shell
    if (++looksWithout < 2) return;
    clearInterval(timer);
    end();
  }, lookMs).unref();
  process.once('SIGHUP', () => clearInterval(timer));
}
