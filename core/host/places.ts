/** Finds the plugin that a file belongs to: for messages about code that blocks the event loop, or that throws where nobody catches. */
export class Places {
  /** The folder of the shipped plugins. */
  readonly #root: string;
  /** Plugins from elsewhere, by the address of their file. */
  readonly #others = new Map<string, string>();

  /** @param root with a slash at its end */
  constructor(root: string, others: Iterable<readonly [file: string, plugin: string]> = []) {
    this.#root = root;
    for (const [file, plugin] of others) this.add(file, plugin);
  }

  /** What the constructor takes, for another thread. */
  get parts(): [root: string, others: [file: string, plugin: string][]] {
    return [this.#root, [...this.#others]];
  }

  add(file: string, plugin: string): void {
    this.#others.set(file, plugin);
  }

  /** @param file its address, `file:///…` */
  pluginOf(file: string): string | null {
    const shipped = file.startsWith(this.#root) ? /^([\w-]+\/[\w-]+)/.exec(file.slice(this.#root.length)) : null;
    return shipped?.[1] ?? this.#others.get(file) ?? null;
  }

  /** The plugin whose code is nearest to where the error was thrown. */
  pluginIn(error: unknown): string | null {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    for (const [file] of stack.matchAll(/file:\/\/[^\s)]+?\.[cm]?[jt]s/g)) {
      const plugin = this.pluginOf(file);
      if (plugin !== null) return plugin;
    }
    return null;
  }
}
