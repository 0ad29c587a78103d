/**
 * Requests that a client sends without waiting for its replies (HTTP pipelining). A few requests of one connection run at once, the others
 * wait, and while many wait the connection is not read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** While fewer requests wait, the connection is read, because only a read shows that the client has left. */
const manyWaiting = 100;

/** safety: the most requests that wait, each with some kilobytes. One read of a socket may bring more: then the connection is closed. */
const mostWaiting = 1000;

/** The requests of one connection. cost: made for a connection whose client pipelines, and for no other. */
export class Line {
  readonly #socket: Socket;
  readonly #serve: Serve;
  readonly #running = new Set<ServerResponse>();
  #waiting: Waiting[] = [];
  #isHeld = false;

  constructor(socket: Socket, serve: Serve) {
    this.#socket = socket;
    this.#serve = serve;
    socket.once('close', () => this.#close());
  }

  /**
   * Serves a request now, or when its turn comes. `before`: the reply before this request's own,
   * which is not written yet. False: too many requests wait, and the connection is to be closed.
   */
  take({ request, response }: Waiting, { before, most }: { before: ServerResponse; most: number }): boolean {
    if (this.#waiting.length === 0 && !this.#running.has(before)) this.#run(before);
    if (this.#running.size < most && this.#waiting.length === 0) {
      this.#run(response);
      this.#serve(request, response);
      return true;
    }
    if (this.#waiting.length >= mostWaiting) return false;
    this.#waiting.push({ request, response });
    this.#readOrNot();
    return true;
  }

  /** Takes out a waiting request whose rest never comes. Returns the reply before it; null where the request does not wait. */
  giveUp(response: ServerResponse): ServerResponse | null {
    if (this.#waiting.at(-1)?.response !== response) return null;
    this.#waiting.pop();
    const before = this.#waiting.at(-1)?.response ?? [...this.#running].at(-1) ?? null;
    this.#readOrNot();
    return before;
  }

  #run(response: ServerResponse): void {
    this.#running.add(response);
    response.once('close', () => this.#over(response));
  }

  #over(response: ServerResponse): void {
    this.#running.delete(response);
    const next = this.#socket.destroyed ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    this.#run(next.response);
    this.#readOrNot();
    this.#serve(next.request, next.response);
  }

  #readOrNot(): void {
    const isMany = this.#waiting.length >= manyWaiting;
    if (isMany === this.#isHeld) return;
    this.#isHeld = isMany;
    if (isMany) hold(this.#socket);
    else release(this.#socket);
  }

  /**
   * safety: Node reports that the client has left only to the reply that is being written, and the work for the other requests would go on.
   */
  #close(): void {
    this.#waiting = [];
    for (const response of this.#running) {
      response.destroy();
      response.emit('close');
    }
  }
}

/** Stops reading. safety: Node itself resumes the socket whenever a body is read, so `resume` does nothing until `release`. */
function hold(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}

function release(socket: Socket): void {
  Reflect.deleteProperty(socket, 'resume');
  socket.resume();
}
