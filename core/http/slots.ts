/**
 * Things that come and go, in no order.
 * cost: a Set keeps them too, but V8 links the old table of a Set to the one that replaces it. Once an old table has moved to the old
 * generation, everything that later tables hold moves there too: after a full collection under load each request left 20 kB for the
 * next one, and collections took ten times as long.
 */
export class Slots<Member> implements Iterable<Member> {
  /** Null where a member has left. */
  readonly #members: (Member | null)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#members.length - this.#free.length;
  }

  /** Returns a function that takes the member out again. It may be called more than once. */
  add(member: Member): () => void {
    const at = this.#free.pop() ?? this.#members.length;
    this.#members[at] = member;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#members[at] = null;
      this.#free.push(at);
    };
  }

  *[Symbol.iterator](): Iterator<Member> {
    for (const member of this.#members) if (member !== null) yield member;
  }
}
