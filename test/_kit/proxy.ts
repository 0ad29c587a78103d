/** A TCP proxy that can be silent, delay answers, refuse new connections and cut open ones. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface Proxy {
  readonly url: string;
  /** The number of pieces that came from the client. */
  requests: number;
  /** The number of accepted connections. */
  connections: number;
  /** Nothing is passed on. */
  isMute: boolean;
  /** After a piece of the client with this text, no answer is passed on over its connection; null: all answers are. */
  losesAnswersAfter: string | null;
  /** Called with each piece of an answer; its result is passed on instead. */
  translate: (piece: Buffer) => Buffer;
  /** The least delay of each answer, in milliseconds. Answers keep their order. */
  delayMs: number;
  /** The port of the server behind the proxy; new connections go there. */
  port: number;
  /** New connections are closed at once. */
  isShut: boolean;
  /** Closes all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** @param url the address of the server behind the proxy; the proxy has the same scheme */
export async function proxyTo(url: string): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (proxy.isShut) {
      near.destroy();
      return;
    }
    proxy.connections++;
    const far = connect(proxy.port, target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    let isLost = false;
    near.on('data', (bytes) => {
      proxy.requests++;
      isLost ||= proxy.losesAnswersAfter !== null && bytes.includes(proxy.losesAnswersAfter);
      if (!proxy.isMute) far.write(bytes);
    });
    let lastAt = 0;
    const late: Buffer[] = [];
    // two timers of the same time may fire in either order
    const passNext = (): void => void near.write(late.shift() as Buffer);
    far.on('data', (answer) => {
      const bytes = proxy.translate(answer);
      if (proxy.isMute || isLost) return;
      const now = performance.now();
      lastAt = Math.max(lastAt, now + proxy.delayMs);
      if (lastAt <= now && late.length === 0) near.write(bytes);
      else {
        late.push(bytes);
        setTimeout(passNext, lastAt - now).unref();
      }
    });
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const proxy: Proxy = {
    url: `${target.protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: 0,
    connections: 0,
    isMute: false,
    losesAnswersAfter: null,
    translate: (piece) => piece,
    delayMs: 0,
    port: Number(target.port),
    isShut: false,
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
