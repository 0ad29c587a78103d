/**
 * What tests have opened: it is closed after the test, or at the end of the file. The set-up of each file (`properties.ts`) calls both. Modules that
 * test files share cannot: a worker loads them once, for its first file, so a hook of theirs would run for that file only.
 */
export interface Closable {
  close(): unknown;
}

const ofTest: Closable[] = [];

/** Closes this after the test. */
export function closeAfterTest<Kind extends Closable>(one: Kind): Kind {
  ofTest.push(one);
  return one;
}

/** Closes everything of one test, the last opened first. */
export async function closeTest(): Promise<void> {
  for (const one of ofTest.splice(0).toReversed()) await one.close();
}

/** Servers that are not closed yet. A test that fails or times out may close nothing. */
const open = new Set<Closable>();

/** Closes this at the end of the test file. Returns a function to call when it was closed before. */
export function closeAtEndOfFile(one: Closable): () => void {
  open.add(one);
  return () => void open.delete(one);
}

/** Closes everything that is still open, the last opened first. */
export async function closeAll(): Promise<void> {
  const left = [...open].toReversed();
  open.clear();
  for (const one of left) await one.close();
}
