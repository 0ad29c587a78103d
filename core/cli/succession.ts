/**
 * One process follows another without a gap: the process that serves starts the next one and hands it its socket. Both take
 * connections until the next one is ready, and then the first one leaves. systemd hands over a socket in a similar way.
 *
 * safety: the kernel resets what waits in the queue of a socket that is closed. A socket of which another process has a copy stays
 * open, so nothing is lost; with two sockets on one port (SO_REUSEPORT) the queue of the first one would be lost.
 */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Exit } from '../exit.ts';

/** The variable holds the port and the host for which the socket of the former process was opened. */
const variable = 'GATEWAY_SOCKET';
/** The first descriptor after stdin, stdout and stderr: systemd uses it, too. */
const firstFd = 3;
const patienceMs = 60_000;

interface Asked {
  readonly host: string;
  readonly port: number;
}

const textOf = ({ host, port }: Asked): string => `${port} ${host}`;

/** Whether this process was started to follow another one. The other one then gets messages from this process. */
const hasPredecessor = process.env[variable] !== undefined && process.send !== undefined;

/** Where the socket of this process comes from. */
export interface Origin {
  /** An open socket; null: the process binds its own. */
  readonly inherited: number | null;
  /** The process that started this one to follow it; null: there is none. */
  readonly follows: number | null;
  /** Why this process must not start another one to follow it; null: it may. */
  readonly noSuccessor: string | null;
}

const bySystemd =
  'systemd watches this process, and would end its successor. Run systemctl restart; with a socket unit no connection is refused meanwhile.';
const inContainer = 'this is the first process of a container, and the container ends with this process. Start another container.';

const isMe = (pid: string | undefined): boolean => pid === String(process.pid);

/** Reads the environment, once. Throws where systemd hands over more than one socket. */
export function originOf(asked: Asked): Origin {
  const { LISTEN_PID, LISTEN_FDS, SYSTEMD_EXEC_PID, [variable]: given } = process.env;
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', variable]) delete process.env[name];
  if (given !== undefined && hasPredecessor) {
    const isSame = given === textOf(asked);
    // the config names another host or port now
    if (!isSame) closeSync(firstFd);
    return { inherited: isSame ? firstFd : null, follows: process.ppid, noSuccessor: null };
  }
  if (isMe(LISTEN_PID) && LISTEN_FDS !== undefined) {
    if (LISTEN_FDS !== '1') {
      throw new Exit(
        1,
        `systemd hands over ${LISTEN_FDS} sockets, and the gateway listens on one. Write one ListenStream= into the socket unit.`,
      );
    }
    return { inherited: firstFd, follows: null, noSuccessor: bySystemd };
  }
  const inOwnContainer = process.pid === 1 ? inContainer : null;
  return { inherited: null, follows: null, noSuccessor: isMe(SYSTEMD_EXEC_PID) ? bySystemd : inOwnContainer };
}

/** What the next process sends to the process that started it. */
type Told = { readonly ready: true } | Refusal;

/** Why the next process does not serve, and the exit code that says so. */
interface Refusal {
  readonly ready: false;
  readonly code: number;
  readonly reason: string;
}

/** Sends a message to the process that started this one, if there is one. That process may have ended by now. */
async function tell(told: Told): Promise<void> {
  if (!hasPredecessor || !process.connected) return;
  await new Promise<void>((resolve) => void process.send?.(told, () => resolve()));
}

/** Tells the former process that this process serves. */
export async function tellReady(): Promise<void> {
  await tell({ ready: true });
  if (hasPredecessor && process.connected) process.disconnect();
}

/** Tells the former process that this process does not serve, and why. */
export const tellRefusal = (code: number, reason: string): Promise<void> => tell({ ready: false, code, reason });

export interface Successor {
  readonly pid: number | undefined;
  readonly outcome: Promise<Told>;
  /** Ends the next process before it is ready. */
  end(): void;
}

const refusal = (reason: string): Refusal => ({ ready: false, code: 1, reason });

/** Starts the next process with the command line and the environment of this one. Throws where the system starts no process. */
export function startSuccessor(asked: Asked, fd: number): Successor {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', fd, 'ipc'],
    env: { ...process.env, [variable]: textOf(asked) },
  });
  const outcome = new Promise<Told>((resolve) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      resolve(refusal(`It was not ready after ${patienceMs / 1000} s, and was ended.`));
    }, patienceMs);
    const end = (told: Told): void => {
      clearTimeout(late);
      resolve(told);
    };
    child.once('message', (told) => end(told as Told));
    child.once('error', (error) => end(refusal(`It could not be started: ${error.message}`)));
    child.once('exit', (code, signal) =>
      end(refusal(`It ended with ${signal ?? `the code ${code}`}; its messages are in the output of the running gateway.`)),
    );
  });
  return { pid: child.pid, outcome, end: () => void child.kill() };
}
