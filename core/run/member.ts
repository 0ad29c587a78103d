/** A worker process, as its parent sees it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { within } from '../cancellation.ts';
import { heapFlagsOf } from '../http/in-flight.ts';
import { Channel } from '../workers/channel.ts';
import type { Peer } from '../workers/relay.ts';
import { workerVariable } from './orders.ts';

const lastWordsMs = 1000;

export interface Member extends Peer {
  readonly child: ChildProcess;
  readonly startedAt: number;
  readonly ended: Promise<string>;
  state: 'starting' | 'serving' | 'leaving';
  /** Another worker is to replace this one already. */
  isReplaced: boolean;
  /** The hash of the config with which the worker began. */
  hash: string;
  /** Connections that the worker was given, and how many of them are closed. */
  given: number;
  closed: number;
  heardAt: number;
  /** Connections that the worker was given and has not taken yet, by number. */
  readonly onTheWay: Map<number, Socket>;
  /** Connections that did not arrive at the worker. */
  missed: number;
  isAsked: boolean;
}

/** Starts the process of a worker. The process does nothing before it is asked to serve. */
export function startMember(number: number, workers: number): Member {
  const child = spawn(process.execPath, [...process.execArgv, ...heapFlagsOf(workers), ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [workerVariable]: String(number) },
  });
  const channel = new Channel(child);
  const ended = new Promise<string>((resolve) => {
    // all messages of the worker are read first: a connection that it has taken must not be given to another worker
    child.once(
      'exit',
      (code, signal) => void within(channel.whenClosed, lastWordsMs, null).then(() => resolve(signal ?? `the code ${code}`)),
    );
    child.once('error', (error) => resolve(error.message));
  });
  return {
    number,
    child,
    channel,
    startedAt: performance.now(),
    ended,
    state: 'starting',
    isReplaced: false,
    hash: '',
    given: 0,
    closed: 0,
    heardAt: 0,
    onTheWay: new Map(),
    missed: 0,
    isAsked: false,
  };
}
