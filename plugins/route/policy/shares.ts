/** Gives turns so that each participant gets its share, as evenly as possible: smooth weighted round robin, as in nginx. */

/** A participant. */
export interface Sharing {
  readonly id: string;
  readonly weight: number;
}

/** The credit of the largest weight. Credits are whole numbers, so that equal weights stay equal for ever. */
const grain = 1024;
/** safety: ids come and go with reloads of the config. */
const mostIds = 10_000;

/** A turn: what each participant was due, first the one that got the turn, and `all` as their sum. */
export interface Taken {
  readonly places: readonly Due[];
  readonly all: number;
}

interface Turn<Value> {
  /** The first participant has the turn; the others follow by their credit. */
  readonly order: readonly Value[];
  readonly taken: Taken;
}

interface Account {
  credit: number;
}

interface Due {
  readonly account: Account;
  readonly due: number;
}

interface Place<Value> extends Due {
  readonly value: Value;
  readonly credit: number;
}

export class Shares {
  /** cost: an object for each participant, so that a turn changes it without another look-up. */
  readonly #accounts = new Map<string, Account>();

  /** @param isPeek true: the turn is not taken, so the next call gives the same order */
  turn<Value extends Sharing>(sharing: readonly Value[], isPeek: boolean): Turn<Value> {
    let most = 0;
    for (const { weight } of sharing) most = Math.max(most, weight);
    let all = 0;
    const places: Place<Value>[] = [];
    for (const value of sharing) {
      // if all weights are 0, all participants are equal
      const due = Math.max(1, Math.round((most > 0 ? value.weight / most : 1) * grain));
      const account = this.#accountOf(value.id);
      all += due;
      places.push({ value, account, due, credit: account.credit + due });
    }
    places.sort((a, b) => b.credit - a.credit);
    if (!isPeek) {
      for (const { account, credit } of places) account.credit = credit;
      if (places[0] !== undefined) places[0].account.credit -= all;
    }
    return { order: places.map(({ value }) => value), taken: { places, all } };
  }

  /**
   * Gives a turn to another participant, as if only those that stand had shared it. The others get their former credit back: a
   * participant that rests for long gets no more turns afterwards, and those that stand get no fewer.
   * @param to the place that gets the turn
   */
  passOn({ places, all }: Taken, to: number, stands: (place: number) => boolean): void {
    let standing = 0;
    for (const [at, { account, due }] of places.entries()) {
      if (stands(at)) standing += due;
      else account.credit -= due;
    }
    for (const [at, { account }] of places.entries()) account.credit += (at === 0 ? all : 0) - (at === to ? standing : 0);
  }

  /** Takes a turn back: nobody is asked. */
  undo({ places, all }: Taken): void {
    for (const [at, { account, due }] of places.entries()) account.credit -= at === 0 ? due - all : due;
  }

  #accountOf(id: string): Account {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      account = { credit: 0 };
      if (this.#accounts.size > mostIds) this.#accounts.clear();
      this.#accounts.set(id, account);
    }
    return account;
  }
}
