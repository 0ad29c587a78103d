/** Sends bytes to a gateway, and reads its replies as strictly as a strict proxy. */
import { connect } from 'node:net';

/** One reply with correct framing: wrong framing throws. */
export interface WireReply {
  readonly status: number;
  /** The headers, with names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Replies {
  readonly replies: readonly WireReply[];
  /** Bytes after the last complete reply. */
  readonly rest: Buffer;
}

class Unsound extends Error {}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

function headOf(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1];
  if (status === undefined) throw new Unsound(`no status line: ${JSON.stringify(first.slice(0, 200))}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) throw new Unsound(`no header: ${JSON.stringify(line.slice(0, 200))}`);
    const known = headers.get(name.toLowerCase());
    if (known !== undefined && ['content-length', 'transfer-encoding', 'content-type', 'x-request-id'].includes(name.toLowerCase())) {
      throw new Unsound(`${name} twice`);
    }
    headers.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
  }
  return { status: Number(status), headers };
}

/** A chunked body, and where it ends; null: it has not ended yet. */
function chunked(bytes: Buffer, start: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = bytes.toString('latin1', at, line);
    if (!/^[0-9a-f]{1,8}$/i.test(size)) throw new Unsound(`no size of a chunk: ${JSON.stringify(size.slice(0, 40))}`);
    const end = line + 2 + Number.parseInt(size, 16);
    if (bytes.length < end + 2) return null;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Unsound('a chunk is not as long as it says');
    parts.push(bytes.subarray(line + 2, end));
    at = end + 2;
    if (end === line + 2) return { body: Buffer.concat(parts), end: at };
  }
}

function bodyAfter(
  bytes: Buffer,
  { start, head: { status, headers }, isHead, isClosed }: { start: number; head: Head; isHead: boolean; isClosed: boolean },
): { body: Buffer; end: number } | null {
  const [length, coding] = [headers.get('content-length'), headers.get('transfer-encoding')];
  if (length !== undefined && coding !== undefined) throw new Unsound('content-length beside transfer-encoding');
  if (isHead || status < 200 || status === 204 || status === 304) return { body: Buffer.alloc(0), end: start };
  if (coding !== undefined) {
    if (coding !== 'chunked') throw new Unsound(`transfer-encoding: ${coding}`);
    return chunked(bytes, start);
  }
  if (length === undefined) {
    if (headers.get('connection') !== 'close') throw new Unsound('a body without an end');
    return isClosed ? { body: bytes.subarray(start), end: bytes.length } : null;
  }
  if (!/^\d+$/.test(length)) throw new Unsound(`content-length: ${length}`);
  const end = start + Number(length);
  return bytes.length < end ? null : { body: bytes.subarray(start, end), end };
}

/** @param isHead whether the replies are to HEAD @param isClosed whether no more bytes come */
export function readReplies(bytes: Buffer, { isHead = false, isClosed = false }: { isHead?: boolean; isClosed?: boolean } = {}): Replies {
  const replies: WireReply[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const head = headOf(bytes.toString('latin1', at, end));
    const found = bodyAfter(bytes, { start: end + 4, head, isHead, isClosed });
    if (found === null) break;
    if (head.status >= 200) replies.push({ ...head, body: found.body });
    at = found.end;
  }
  return { replies, rest: bytes.subarray(at) };
}

export interface Sent {
  readonly parts: readonly Uint8Array[];
  readonly isHead?: boolean;
  /** The address of the client; each address of 127.0.0.0/8 is this machine. */
  readonly from?: string;
  /**
   * The number of replies after which the client leaves; it leaves an endless stream at its first event. Absent: it leaves after a silence.
   */
  readonly wanted?: number;
  /** The client resets the connection this many milliseconds after the last part. */
  readonly resetMs?: number;
}

const silenceMs = 40;
/** Longer than a machine stands still. */
const patienceMs = 60_000;

/** Sends the parts one by one on a new connection. Rejects where a reply has wrong framing, or where no reply comes. */
export async function exchangeBytes(url: string, { parts, isHead = false, from = '127.0.0.1', wanted, resetMs }: Sent): Promise<Replies> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: from });
  let bytes = Buffer.alloc(0);
  let quiet: NodeJS.Timeout | undefined;
  return await new Promise<Replies>((resolve, reject) => {
    const late = setTimeout(
      () =>
        finish(() => {
          throw new Unsound(`no end after ${patienceMs} ms: ${JSON.stringify(bytes.toString('latin1').slice(0, 300))}`);
        }),
      patienceMs,
    );
    const finish = (read: () => Replies): void => {
      clearTimeout(late);
      clearTimeout(quiet);
      socket.destroy();
      try {
        resolve(read());
      } catch (error) {
        reject(error);
      }
    };
    const listen = (): void => {
      clearTimeout(quiet);
      if (wanted === undefined && resetMs === undefined) quiet = setTimeout(() => socket.end(), silenceMs);
    };
    socket.on('data', (part) => {
      bytes = Buffer.concat([bytes, part]);
      listen();
      try {
        const { replies } = readReplies(bytes, { isHead });
        const isEndless = /^HTTP\/1\.1 200[^]*\r\ncontent-type: text\/event-stream[^]*\r\n\r\n[^]*retry:/i.test(
          bytes.toString('latin1', 0, 2000),
        );
        if (wanted !== undefined && (replies.length >= wanted || isEndless)) finish(() => readReplies(bytes, { isHead }));
      } catch (error) {
        finish(() => {
          throw error;
        });
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => finish(() => readReplies(bytes, { isHead, isClosed: true })));
    void (async () => {
      for (const part of parts) await new Promise((sent) => socket.write(part, sent));
      if (resetMs === undefined) listen();
      else setTimeout(() => socket.resetAndDestroy(), resetMs);
    })();
  });
}
