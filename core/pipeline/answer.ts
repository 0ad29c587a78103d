/** What the pipeline and the endpoints answer with: status, headers and a body, before anything of HTTP is written. */

/**
 * A body that is written piece by piece, for a writer that asks for the next piece when the client has taken the last.
 * `core/pipeline/stream.ts` makes it, `core/http/outflow.ts` writes it.
 */
export interface StreamedBody {
  /**
   * `comment` writes a sign of life while nothing comes. `cancelled` wakes a writer that waits for its client: the request was cancelled.
   */
  attach(writer: { comment(text: string): void; cancelled(): void }): void;
  /** The next text to write; null once all of it is written. */
  next(): Promise<string | null>;
}

/** What an endpoint answers with. */
export interface Answer<Body = string | Uint8Array | ReadableStream<Uint8Array>> {
  /** 200 where absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Body;
  /**
   * A stream that never ends by itself. A gateway that stops or reloads
   * ends such a stream at once, cleanly. It waits for all other streams.
   */
  readonly isEndless?: boolean;
}

/** What a completion request is answered with: a whole text, or one that is still being written. */
export type Completion = Answer<string | StreamedBody>;

/** Headers of answers about the gateway itself, such as the log and the keys: nothing keeps them, and no browser takes them for a page. */
export const protective = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export const json = (value: unknown, more: Omit<Answer, 'body'> = {}): Answer => ({
  ...more,
  headers: { 'content-type': 'application/json', ...more.headers },
  body: JSON.stringify(value),
});
