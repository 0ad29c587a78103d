/** What the pipeline and the endpoints answer with: status, headers and a body, before anything of HTTP is written. */

/**
 * A body that is written piece by piece, for a writer that asks for the next piece when the client has taken the last.
 * `core/pipeline/stream.ts` makes it, `core/http/outflow.ts` writes it.
 */
export interface StreamedBody {
  /** Comments go out by themselves while nothing comes; `stopped` wakes a writer that waits for its client. */
  attach(writer: { comment(text: string): void; stopped(): void }): void;
  /** The next text to write; null once all of it is written. */
  next(): Promise<string | null>;
  /** The client has left. */
  cancel(): Promise<void>;
}

/** What an endpoint answers with. */
export interface Answer<Body = string | Uint8Array | ReadableStream<Uint8Array>> {
  /** 200 where absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Body;
  /** A stream that has no end of its own: a stop or a reload of the gateway ends it at once, cleanly. Others are waited for. */
  readonly isEndless?: boolean;
}

/** What a completion request is answered with: a whole text, or one that is still being written. */
export type Completion = Answer<string | StreamedBody>;

export const json = (value: unknown, more: Omit<Answer, 'body'> = {}): Answer => ({ ...more, headers: { 'content-type': 'application/json', ...more.headers }, body: JSON.stringify(value) });
