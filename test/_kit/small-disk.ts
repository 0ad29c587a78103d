/** A disk of a few kilobytes, in memory. It is gone at the end of its test file, whatever came of the tests. */
import { execFileSync } from 'node:child_process';
import { closeAtEndOfFile } from './left-open.ts';

export interface SmallDisk {
  grow(size: string): void;
  /** As a kernel does that has found a fault of the disk. */
  refuseWrites(): void;
  unmount(): void;
}

/** @param size `64k` */
export function mountSmallDisk(folder: string, size: string): SmallDisk {
  const mount = (options: string): void => void execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  mount(`size=${size}`);
  const unmount = (): void => {
    isUnmounted();
    // lazily, because a gateway that is left open has files on it
    execFileSync('umount', ['--lazy', folder]);
  };
  const isUnmounted = closeAtEndOfFile({ close: unmount });
  return { grow: (larger) => mount(`remount,size=${larger}`), refuseWrites: () => mount('remount,ro'), unmount };
}
