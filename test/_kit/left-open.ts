/**
 * Servers that tests have opened and not closed yet. A test that fails or
 * times out may close nothing, so they are closed at the end of its file.
 */
export interface Closable {
  close(): unknown;
}

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
