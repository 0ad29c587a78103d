/** A CPU profile folded into frames, and the frames laid out as boxes: pure functions, so that they can be tested. */
import { fileOf } from './profile.ts';
import type { CallFrame, Profile, ProfileNode } from './profile.ts';

export type Room = 'core' | 'plugin' | 'package' | 'node' | 'native' | 'gc';

export interface Frame {
  readonly name: string;
  /** The file; '' for native code. */
  readonly file: string;
  readonly room: Room;
  /** The time of the function and of its calls, in milliseconds. */
  readonly ms: number;
  /** The called frames, longest first. */
  readonly calls: readonly Frame[];
}

/** A time span, in microseconds of the profile's clock. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The own time of each node in the window, in milliseconds. */
function ownTimes({ startTime, samples, timeDeltas }: Profile, { from, to }: Window): Map<number, number> {
  const times = new Map<number, number>();
  let now = startTime;
  for (const [at, id] of samples.entries()) {
    const delta = timeDeltas[at] ?? 0;
    now += delta;
    if (now >= from && now <= to) times.set(id, (times.get(id) ?? 0) + delta / 1000);
  }
  return times;
}

function roomOf({ functionName, url }: CallFrame): Room {
  if (functionName === '(garbage collector)') return 'gc';
  if (url === '') return 'native';
  if (url.startsWith('node:')) return 'node';
  const file = fileOf({ functionName, url });
  if (file.startsWith('plugins/')) return 'plugin';
  return /^(?:core|config|schemas)\//.test(file) ? 'core' : 'package';
}

const words: Readonly<Record<string, string>> = {
  '': 'anonymous',
  '(program)': 'system calls and libuv',
  '(garbage collector)': 'garbage collector',
};

const sumOf = (frames: readonly Frame[]): number => frames.reduce((sum, { ms }) => sum + ms, 0);

/**
 * The work of the main thread in the window, as one frame, without the time
 * that it slept. Nodes of one function below one frame become one frame.
 */
export function fold(profile: Profile, window: Window): Frame {
  const own = ownTimes(profile, window);
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const callsOf = (nodes: readonly ProfileNode[]): Frame[] => {
    const called = nodes.flatMap(({ children = [] }) => children.map((id) => byId.get(id) as ProfileNode));
    const groups = Map.groupBy(
      called.filter(({ callFrame }) => callFrame.functionName !== '(idle)'),
      ({ callFrame }) => `${callFrame.functionName} ${callFrame.url}`,
    );
    return Array.from(groups.values(), frameOf)
      .filter(({ ms }) => ms > 0)
      .toSorted((a, b) => b.ms - a.ms);
  };
  const frameOf = (nodes: readonly ProfileNode[]): Frame => {
    const { callFrame } = nodes[0] as ProfileNode;
    const calls = callsOf(nodes);
    const ms = nodes.reduce((sum, { id }) => sum + (own.get(id) ?? 0), sumOf(calls));
    return { name: words[callFrame.functionName] ?? callFrame.functionName, file: fileOf(callFrame), room: roomOf(callFrame), ms, calls };
  };
  const calls = callsOf(profile.nodes.filter(({ callFrame }) => callFrame.functionName === '(root)'));
  return { name: 'main thread', file: '', room: 'native', ms: sumOf(calls), calls };
}

export interface Box {
  readonly frame: Frame;
  readonly x: number;
  readonly width: number;
  /** The depth; 0 is the outermost frame. */
  readonly depth: number;
}

export interface Layout {
  /** The width of the outermost frame. */
  readonly width: number;
  /** A frame with a smaller share of the whole is left out, with its calls. */
  readonly least: number;
}

/** A box for each frame; the boxes of its calls are below it, side by side from its left edge. */
export function boxesOf(whole: Frame, { width, least }: Layout): Box[] {
  const boxes: Box[] = [];
  const place = (frame: Frame, left: number, depth: number): void => {
    if (frame.ms < whole.ms * least) return;
    boxes.push({ frame, x: left, width: (frame.ms / whole.ms) * width, depth });
    let x = left;
    for (const call of frame.calls) {
      place(call, x, depth + 1);
      x += (call.ms / whole.ms) * width;
    }
  };
  place(whole, 0, 0);
  return boxes;
}
