/**
 * The time that plugins took, read at the scrape from each gateway that runs. It outlives a reload, so that the counter never goes down.
 */
import { readings } from './families.ts';

type SpentMs = () => ReadonlyMap<string, number>;

export class PluginMeters {
  readonly #gateways = new Set<SpentMs>();
  /** Milliseconds of gateways that have ended. */
  readonly #past = new Map<string, number>();

  /** Counts the time of a gateway's plugins from now on. Returns the function to call when that gateway ends. */
  begin(spentMs: SpentMs): () => void {
    this.#gateways.add(spentMs);
    return () => {
      if (!this.#gateways.delete(spentMs)) return;
      for (const [plugin, ms] of spentMs()) this.#past.set(plugin, (this.#past.get(plugin) ?? 0) + ms);
    };
  }

  text(): string {
    const totals = new Map(this.#past);
    for (const spentMs of this.#gateways) for (const [plugin, ms] of spentMs()) totals.set(plugin, (totals.get(plugin) ?? 0) + ms);
    const about = {
      name: 'gateway_plugin_seconds_total',
      help: 'Time that each plugin added to requests, in seconds; the time in which a plugin supplied an answer is in the attempts.',
    };
    return readings(
      'counter',
      about,
      Array.from(totals, ([plugin, ms]) => [{ plugin }, Number((ms / 1000).toFixed(6))] as const),
    );
  }
}
