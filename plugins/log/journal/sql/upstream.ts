/**
 * The requests to providers. In the journal they are a line of JSON with everything but the bodies, and then the bodies unchanged.
 * A store keeps each body as its difference from the request of the caller, because most of the body is a copy of that request.
 */
import type { RequestRecord } from '../../../../core/pipeline/context.ts';
import type { UpstreamRequest } from '../../../../core/log/store.ts';
import { differencesFrom, restored } from './difference.ts';
import type { Difference } from './difference.ts';

interface Told extends Omit<UpstreamRequest, 'body'> {
  /** The length of the body. */
  readonly length: number;
}

type Stored = Omit<UpstreamRequest, 'body'> & { readonly body: Difference };

/** The text for the journal; empty where no provider was asked. @param safe returns a body without credentials */
export function sentText({ sent = [] }: Pick<RequestRecord, 'sent'>, safe: (body: string) => string): string {
  if (sent.length === 0) return '';
  const told: Told[] = [];
  let bodies = '';
  for (const { at, requests } of sent) {
    for (const { method, url, headers, body: asSent } of requests) {
      const body = safe(asSent);
      told.push({ attempt: at + 1, method, url, headers, length: body.length });
      bodies += body;
    }
  }
  return `${JSON.stringify(told)}\n${bodies}`;
}

/** The text for a store. @param request the stored request of the caller */
export function storedSent(text: string, request: string): string {
  const begin = text.indexOf('\n') + 1;
  const differenceOf = differencesFrom(request);
  let at = begin;
  const stored = (JSON.parse(text.slice(0, begin)) as Told[]).map(({ length, ...told }): Stored => {
    const body = text.slice(at, at + length);
    at += length;
    return { ...told, body: differenceOf(body) };
  });
  return JSON.stringify(stored);
}

/** The reverse of `storedSent`. */
export const upstreamOf = (stored: string, request: string): UpstreamRequest[] =>
  (JSON.parse(stored) as Stored[]).map((one) => ({ ...one, body: valueOf(restored(one.body, request)) }));

function valueOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
