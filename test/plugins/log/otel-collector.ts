/** A scripted collector that takes OTLP over HTTP, compressed or not, and gives the received spans. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import type { Span } from '../../../plugins/log/otel/spans.ts';
import type { Asked, Step } from '../../_kit/upstream.ts';
import { answers, pause } from '../../_kit/upstream.ts';

export interface ReceivedSpan extends Omit<Span, 'attributes'> {
  /** By key, as plain values. */
  readonly attributes: Readonly<Record<string, any>>;
}

export interface Export extends Asked {
  /** Bytes of its JSON. */
  readonly size: number;
}

export interface Collector {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly asked: readonly Export[];
  script(...steps: Step[]): void;
  /** The spans of all exports, whatever the collector answered. */
  spans(): ReceivedSpan[];
  /** Resolves when this many exports have arrived. */
  exports(count: number): Promise<void>;
}

export async function startCollector(...steps: Step[]): Promise<Collector> {
  let script = steps.length === 0 ? [answers({})] : steps;
  let at = 0;
  const asked: Export[] = [];
  const server = createServer((request, response) => void take(request, response));
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    const one: Export = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      closed,
      ...(await readJson(request)),
    };
    asked.push(one);
    await script[Math.min(at++, script.length - 1)]?.(response, one);
  };
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    script(...next) {
      script = next;
      at = 0;
    },
    spans: () => asked.flatMap(({ json }) => spansOf(json)),
    async exports(count) {
      while (asked.length < count) await pause(2);
    },
  };
}

async function readJson(request: IncomingMessage): Promise<Pick<Export, 'text' | 'json' | 'size'>> {
  const sent = await buffer(request);
  const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
  const text = bytes.toString('utf8');
  return { text, json: JSON.parse(text) as Export['json'], size: bytes.length };
}

const spansOf = (body: any): ReceivedSpan[] =>
  body.resourceSpans.flatMap(({ scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => ({ ...span, attributes: plain(span.attributes) }))),
  );

export const plain = (attributes: any[]): Record<string, any> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function valueOf(value: any): unknown {
  if ('intValue' in value) {
    // wire: 64-bit integers are text in OTLP's JSON
    if (typeof value.intValue !== 'string') throw new Error(`an integer that is no text: ${JSON.stringify(value)}`);
    return Number(value.intValue);
  }
  return 'arrayValue' in value ? value.arrayValue.values.map(valueOf) : Object.values(value)[0];
}
