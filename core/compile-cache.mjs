// Compiled code is kept for the next start. This file is JavaScript, because Node loads its TypeScript compiler for the first .ts file
// that is not in the cache: 16 MB of memory and 40 ms of each start.
import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that this user has made, and that nobody else can write. */
function isOwn(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode, uid } = lstatSync(folder);
    return (mode & 0o170000) === 0o040000 && uid === process.getuid() && (mode & 0o022) === 0;
  } catch {
    return false;
  }
}

// safety: Node runs the code that it finds in the cache, whoever wrote it. All users of the
// machine know the name of Node's default folder, and whoever creates that folder first owns it
const folder = process.getuid === undefined ? undefined : join(tmpdir(), `model-gateway-${process.getuid()}`);
if (process.env['NODE_COMPILE_CACHE'] || folder === undefined) module.enableCompileCache?.();
else if (isOwn(folder)) module.enableCompileCache?.(folder);
