/** A collector that takes OTLP over HTTP, as a scripted server: what it was sent, as spans. */
import { afterEach } from 'vitest';
import type { Span } from '../../../plugins/log/otel/spans.ts';
import type { Asked, ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { answers, pause, startUpstream } from '../../_kit/upstream.ts';

export interface ReceivedSpan extends Omit<Span, 'attributes'> {
  /** By key, as plain values. */
  readonly attributes: Readonly<Record<string, any>>;
}

export interface Collector {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly asked: readonly Asked[];
  script(...steps: Step[]): void;
  /** Of every export that has come, whatever it was answered. */
  spans(): ReceivedSpan[];
  /** Resolves when so many exports have come. */
  exports(count: number): Promise<void>;
  close(): Promise<void>;
}

const open: ScriptedUpstream[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

export async function startCollector(...steps: Step[]): Promise<Collector> {
  const server = await startUpstream(...(steps.length === 0 ? [answers({})] : steps));
  open.push(server);
  return {
    url: server.url.replace(/\/v1$/, ''),
    asked: server.asked,
    script: server.script,
    spans: () => server.asked.flatMap(({ json }) => spansOf(json)),
    async exports(count) {
      while (server.asked.length < count) await pause(2);
    },
    close: server.close,
  };
}

const spansOf = (body: any): ReceivedSpan[] =>
  body.resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => ({ ...span, attributes: plain(span.attributes) }))));

export const plain = (attributes: any[]): Record<string, any> => Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function valueOf(value: any): unknown {
  if ('intValue' in value) {
    // wire: 64-bit integers are text in OTLP's JSON
    if (typeof value.intValue !== 'string') throw new Error(`an integer that is no text: ${JSON.stringify(value)}`);
    return Number(value.intValue);
  }
  return 'arrayValue' in value ? value.arrayValue.values.map(valueOf) : Object.values(value)[0];
}
