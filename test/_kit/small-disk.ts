/** A disk of a few kilobytes, in memory. It is unmounted at the end of its test file, also when tests failed. */
import { execFileSync } from 'node:child_process';
import { closeAtEndOfFile } from './left-open.ts';

export interface SmallDisk {
  grow(size: string): void;
  /** Makes the disk read-only, as the kernel does after a fault of the disk. */
  refuseWrites(): void;
  unmount(): void;
}

/** @param size `64k` */
export function mountSmallDisk(folder: string, size: string): SmallDisk {
  const mount = (options: string): void =>
    void execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  mount(`size=${size}`);
  const unmount = (): void => {
    isUnmounted();
    // lazily, because a gateway that was left open has files on this disk
    execFileSync('umount', ['--lazy', folder]);
  };
  const isUnmounted = closeAtEndOfFile({ close: unmount });
  return { grow: (larger) => mount(`remount,size=${larger}`), refuseWrites: () => mount('remount,ro'), unmount };
}
