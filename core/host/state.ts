/**
 * Values that outlive a reload. A reload builds the new gateway before it closes the old one, and both use the same value; the
 * value ends with the last gateway that asked for it.
 */
interface Held {
  readonly value: unknown;
  users: number;
}

/** What a plugin's value threw at its end. */
interface Failure {
  readonly plugin: string;
  readonly error: unknown;
}

/** The values of one process, kept by plugin and name. The program makes one and hands it to each gateway that it starts. */
export class States {
  readonly #held = new Map<string, Held>();

  /**
   * The states of one gateway: `of` gives a plugin's own, `release` gives back
   * all values that were asked for, and returns what values threw at their end.
   */
  forGateway(): { of(plugin: string): State; release(): readonly Failure[] } {
    /** The plugins by the key of the value. */
    const asked = new Map<string, string>();
    return {
      of: (plugin) => (name, create) => {
        const key = `${plugin} ${name}`;
        const held = this.#held.get(key) ?? { value: create(), users: 0 };
        this.#held.set(key, held);
        if (!asked.has(key)) held.users++;
        asked.set(key, plugin);
        return held.value as ReturnType<typeof create>;
      },
      release: () => {
        const left = [...asked];
        asked.clear();
        return left.flatMap(([key, plugin]) => this.#leave(key, plugin));
      },
    };
  }

  #leave(key: string, plugin: string): Failure[] {
    const held = this.#held.get(key);
    if (held === undefined || --held.users > 0) return [];
    this.#held.delete(key);
    try {
      (held.value as Partial<Disposable> | null)?.[Symbol.dispose]?.();
      return [];
    } catch (error) {
      return [{ plugin, error }];
    }
  }
}

/**
 * A value of this plugin's that outlives a reload of the config: `create` runs at the first use, and the gateway of the next
 * config gets the same value. A value with `[Symbol.dispose]` is disposed when no gateway uses it any more.
 */
export type State = <Value>(name: string, create: () => Value) => Value;
