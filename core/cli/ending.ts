/** How a gateway process ends: at SIGTERM or SIGINT it first tells load balancers, then closes its port, and its running requests end. */
import { setTimeout as wait } from 'node:timers/promises';
import type { RunningGateway } from '../host/gateway.ts';
import type { Watch } from '../host/reload.ts';
import type { Listening } from '../http/listen.ts';

export interface EndingParts {
  /** The gateway that serves now. */
  readonly current: () => RunningGateway;
  readonly watching: Watch;
  readonly listening: Listening;
}

/** Ends the process at a signal, with the code 0. */
export function endOnSignals({ current, watching, listening }: EndingParts): void {
  const stop = async (): Promise<void> => {
    watching.stop();
    const gateway = current();
    const { lameDuckMs, drainMs } = gateway.config.server.limits;
    gateway.leave();
    listening.leave();
    if (lameDuckMs > 0) await wait(lameDuckMs);
    const former = [...watching.retiring];
    await listening.drain(drainMs, former);
    await Promise.all([gateway, ...former].map((one) => one.close()));
    process.exit(0);
  };
  let signals = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      signals++;
      // the second signal is from somebody who does not want to wait for running streams
      void (signals > 1 ? current().close().finally(() => process.exit(0)) : stop());
    });
  }
}
