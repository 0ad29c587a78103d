/** What the spans of a request need and its record does not have, kept from the arrival of the request to its record. */
import type { Parent } from './trace-context.ts';

export interface Note {
  readonly parent: Parent | null;
  readonly isPrivate: boolean;
}

/**
 * Limit of requests in flight whose notes are kept. Beyond it the oldest
 * request loses its note: it begins a trace of its own and counts as private.
 */
const mostNotes = 65_536;

export class Notes {
  /**
   * safety: most requests of unknown callers have no record that removes the note, so their
   * notes are kept here. However many they are, they remove no note of a running request.
   */
  readonly #ofStrangers = new Map<string, Note>();
  readonly #ofCallers = new Map<string, Note>();
  readonly #most: number;

  constructor(most = mostNotes) {
    this.#most = most;
  }

  arrived(id: string, note: Note): void {
    this.#keep(this.#ofStrangers, id, note);
  }

  /** To be called when the caller is known. */
  known(id: string, isPrivate: boolean): void {
    const note = this.take(id);
    if (note !== undefined) this.#keep(this.#ofCallers, id, { ...note, isPrivate: note.isPrivate || isPrivate });
  }

  take(id: string): Note | undefined {
    const note = this.#ofCallers.get(id) ?? this.#ofStrangers.get(id);
    this.#ofCallers.delete(id);
    this.#ofStrangers.delete(id);
    return note;
  }

  #keep(notes: Map<string, Note>, id: string, note: Note): void {
    if (notes.size >= this.#most) notes.delete(notes.keys().next().value as string);
    notes.set(id, note);
  }
}
