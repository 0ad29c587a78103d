import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Finds the plugin that a file belongs to: for messages about code that blocks the event loop, or that throws where nobody catches. */
export class Places {
  /** The folder of the shipped plugins. */
  readonly #root: string;
  /** Plugins from elsewhere, by the address of their file. */
  readonly #others: Map<string, string>;
  /** Hashes of these files when their plugins were loaded: Node loads a file once. */
  readonly #loaded = new Map<string, string>();
  /** Plugins from elsewhere whose files had changed since they were loaded when the config was last read. */
  readonly changed = new Set<string>();

  /** @param root with a slash at its end */
  constructor(root: string, others: Iterable<readonly [file: string, plugin: string]> = []) {
    this.#root = root;
    this.#others = new Map(others);
  }

  /** What the constructor takes, for another thread. */
  get parts(): [root: string, others: [file: string, plugin: string][]] {
    return [this.#root, [...this.#others]];
  }

  /** Called each time a config names the plugin. */
  add(file: string, plugin: string): void {
    this.#others.set(file, plugin);
    const now = hash('sha256', readFileSync(fileURLToPath(file)));
    const loaded = this.#loaded.get(file) ?? now;
    this.#loaded.set(file, loaded);
    if (now === loaded) this.changed.delete(plugin);
    else this.changed.add(plugin);
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
