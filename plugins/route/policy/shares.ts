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

/** A turn: of `all` that was due, `due` belonged to the one that has it. */
export interface Taken {
  readonly id: string;
  readonly due: number;
  readonly all: number;
}

export interface Turn<Value> {
  /** The first has the turn, the others follow by what they are owed. */
  readonly order: readonly Value[];
  readonly taken: Taken;
}

export class Shares {
  readonly #credit = new Map<string, number>();

  /** @param isPeek nobody takes the turn, so the next call gives the same order */
  turn<Value>(dealt: readonly Dealt<Value>[], isPeek: boolean): Turn<Value> {
    const most = Math.max(...dealt.map(({ weight }) => weight));
    const owed = dealt.map(({ id, weight, value }) => {
      // where all are worth nothing, all are worth the same
      const due = Math.max(1, Math.round((most > 0 ? weight / most : 1) * grain));
      return { id, due, value, credit: (this.#credit.get(id) ?? 0) + due };
    });
    const order = owed.toSorted((a, b) => b.credit - a.credit);
    const all = owed.reduce((sum, { due }) => sum + due, 0);
    if (!isPeek) {
      if (this.#credit.size > mostIds) this.#credit.clear();
      order.forEach(({ id, credit }, at) => void this.#credit.set(id, at === 0 ? credit - all : credit));
    }
    const { id = '', due = 0 } = order[0] ?? {};
    return { order: order.map(({ value }) => value), taken: { id, due, all } };
  }

  /** Gives a turn to another one. The one that had it is owed what it was owed before, so that one that rests for long gets no more afterwards. */
  passOn({ id, due, all }: Taken, to: string): void {
    this.#add(id, all - due);
    this.#add(to, due - all);
  }

  #add(id: string, more: number): void {
    this.#credit.set(id, (this.#credit.get(id) ?? 0) + more);
  }
}
