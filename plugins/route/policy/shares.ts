/** Deals out turns so that each gets its share, as evenly as it goes: smooth weighted round robin, as nginx does it. */

interface Dealt<Value> {
  readonly id: string;
  readonly weight: number;
  readonly value: Value;
}

/** What the largest weight is worth. Credits are whole numbers, so that equal weights stay equal for ever. */
const grain = 1024;
/** safety: ids come and go with reloads of the config. */
const mostIds = 10_000;

export class Shares {
  readonly #credit = new Map<string, number>();

  /**
   * The order of one turn: the first has the turn, the others follow by what they are owed.
   * @param isPeek nobody takes the turn, so the next call gives the same order
   */
  turn<Value>(dealt: readonly Dealt<Value>[], isPeek: boolean): Value[] {
    const most = Math.max(...dealt.map(({ weight }) => weight));
    const owed = dealt.map(({ id, weight, value }) => {
      // where all are worth nothing, all are worth the same
      const due = Math.max(1, Math.round((most > 0 ? weight / most : 1) * grain));
      return { id, due, value, credit: (this.#credit.get(id) ?? 0) + due };
    });
    const order = owed.toSorted((a, b) => b.credit - a.credit);
    if (!isPeek) {
      if (this.#credit.size > mostIds) this.#credit.clear();
      const all = owed.reduce((sum, { due }) => sum + due, 0);
      order.forEach(({ id, credit }, at) => void this.#credit.set(id, at === 0 ? credit - all : credit));
    }
    return order.map(({ value }) => value);
  }
}
